#!/usr/bin/env python3
"""measure-localization.py SERVER DRIVE...: Glint beside other programs on recorded or rendered stereo drives: tables.

SERVER  the path of glint-server, which is started on the CPU; the package glint must be importable
DRIVE   a folder with left/, right/ (or image_l/, image_r/), calib.txt and poses.txt in KITTI's formats, and times.txt
        (nanoseconds; without it pairs are 1/9.65 s apart)

  --peers LIST       of lk, cuvslam and orbslam3 (lk): Lucas-Kanade and PnP from pair to pair, by OpenCV; the wheels
                     dim-odom and pyorbslam3, each in a process of its own
  --vocabulary FILE  of ORB-SLAM3, as text
  --every LIST       every n-th pair of the drive (1,2,3,5)
  --dark LIST        also 45 pairs around every tenth place, of which so many are dark there (none)
  --still SECONDS    that a peer's own threads are waited for after each pair, at most (3): busy machines harm it less

Columns: `located` good pairs; `wrong` of those that have one a second before in the same map: the motion since then
differs by over 20 % of the way + 0.15 m, or by over 5 degrees; `false`: TRACKING, but off by more than 3 sigma of the
covariance and 1 % of the way since the map's first pair, with the first poses put upon each other, and with only their
positions and the map turned as fits best (Glint alone tells a covariance); ATE (rigid, by evo) and error of the end, of
the way, in the map with most pairs; processor time of a pair, all threads. cuvslam and orbslam3 tell no maps: all their
pairs are of one. lk begins another map with each pair that is not located. Needs numpy, OpenCV and evo.
"""
import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile

import numpy as np

from localization_peer import Drive

PEER = pathlib.Path(__file__).parent / "localization_peer.py"
LOCATED = ("TRACKING", "RELOCALIZED", "NEW_MAP")


# An answer: (status, world from camera, map, covariance or None), or None. Programs have one for each pair.


class Glint:
    name = "Glint"

    def __init__(self, server):
        import glint
        self.glint = glint
        self.folder = tempfile.TemporaryDirectory()
        address = f"unix:{self.folder.name}/socket"
        self.server = subprocess.Popen([server, f"--listen={address}", "--metrics-listen=", "--backend=cpu"],
                                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.client = glint.Client(address, wait=60)

    def seconds(self):
        fields = open(f"/proc/{self.server.pid}/stat").read().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def run(self, drive, chosen):
        height, width = drive.pair(0, False)[0].shape
        f, cx, cy, b = drive.camera
        pairs = (self.glint.LocalizePair(*drive.pair(i, dark), time_ns=drive.times[i]) for i, dark in chosen)
        before, answers = self.seconds(), []
        camera = self.glint.StereoCamera(width, height, f, cx, cy, b)
        for result in self.client.localize_stream(pairs, camera, window=2):
            p = result.location
            answers.append((p.status.name, p.world_from_camera, p.map_id, p.covariance))
        return answers, (self.seconds() - before) / len(chosen)

    def close(self):
        self.server.terminate()
        self.server.wait()


class Peer:
    """Another program, by localization_peer.py."""

    def __init__(self, name, arguments):
        self.name, self.arguments = name, arguments

    def run(self, drive, chosen):
        with tempfile.TemporaryDirectory() as folder:
            out = pathlib.Path(folder) / "answers"
            task = json.dumps({"chosen": chosen, "folder": str(drive.files[0][0].parent.parent)})
            command = [sys.executable, PEER, self.name, out, task, *self.arguments]
            subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=3000)
            lines = [json.loads(line) for line in open(out)] if out.exists() else []
        answers = [(a and ("TRACKING", np.array(a[0]).reshape(4, 4), a[1], None)) for a, _ in lines]
        answers += [None] * (len(chosen) - len(answers))
        return answers, sum(seconds for _, seconds in lines) / max(1, len(lines))

    def close(self):
        pass


def angle(rotation):
    return np.degrees(np.arccos(np.clip((np.trace(rotation) - 1) / 2, -1, 1)))


def judge_map(drive, chosen, answers, numbers, row):
    """Counts the pairs of a map that are TRACKING, without its first one, and of these the false ones: with the first
    poses put upon each other; and with only their positions, the map turned as fits best, as the truth's first heading
    has an error of its own."""
    start, p = numbers[0], np.array([answers[n][1][:3, 3] for n in numbers])
    q = drive.truth[[chosen[n][0] for n in numbers]][:, :3, 3]
    u, _, v = np.linalg.svd((p - p[0]).T @ (q - q[0]))
    turned = np.eye(4)
    turned[:3, :3] = u @ np.diag([1, 1, np.linalg.det(u @ v)]) @ v
    turned[:3, 3] = p[0] - turned[:3, :3] @ q[0]
    for n in numbers[1:]:
        status, pose, _, covariance = answers[n]
        if status != "TRACKING" or covariance is None:
            continue
        row["tracking"] += 1
        i, first = chosen[n][0], chosen[start][0]
        as_first = answers[start][1] @ np.linalg.inv(drive.truth[first])
        for key, found_from_true in (("false", as_first), ("turned", turned)):
            off = pose[:3, :3].T @ (pose[:3, 3] - (found_from_true @ drive.truth[i])[:3, 3])
            sigma2 = off @ np.linalg.solve(covariance[3:, 3:], off) if covariance.any() else np.inf
            row[key] += int(sigma2 > 9 and np.linalg.norm(off) > 0.01 * (drive.way[i] - drive.way[first]))


def judge(drive, chosen, answers):
    from evo.core import metrics, trajectory
    is_good = [not dark for _, dark in chosen]
    is_located = [a is not None and a[0] in LOCATED for a in answers]
    row = {"good": sum(is_good), "located": sum(a and b for a, b in zip(is_good, is_located)),
           "wrong": 0, "judged": 0, "false": 0, "turned": 0, "tracking": 0}
    maps = {}
    for n in range(len(chosen)):
        if is_located[n]:
            maps.setdefault(answers[n][2], []).append(n)
    for numbers in maps.values():
        judge_map(drive, chosen, answers, numbers, row)
    for n, (i, _) in enumerate(chosen):
        m = next((m for m in reversed(range(n)) if drive.times[i] - drive.times[chosen[m][0]] >= 1e9), None)
        if m is None or not is_located[n] or not is_located[m] or answers[m][2] != answers[n][2]:
            continue
        row["judged"] += 1
        true_step = np.linalg.inv(drive.truth[chosen[m][0]]) @ drive.truth[i]
        step = np.linalg.inv(np.linalg.inv(answers[m][1]) @ answers[n][1]) @ true_step
        way = drive.way[i] - drive.way[chosen[m][0]]
        row["wrong"] += int(np.linalg.norm(step[:3, 3]) > 0.2 * way + 0.15 or angle(step[:3, :3]) > 5)
    row["maps"] = len(maps)
    longest = max(maps.values(), key=len, default=[])
    row["of"] = len(longest)
    way = drive.way[chosen[longest[-1]][0]] - drive.way[chosen[longest[0]][0]] if longest else 0
    if len(longest) > 2 and way > 0:
        found, true = (trajectory.PosePath3D(poses_se3=list(p)) for p in
                       ([answers[n][1] for n in longest], [drive.truth[chosen[n][0]] for n in longest]))
        ends = [np.linalg.inv(p.poses_se3[0]) @ p.poses_se3[-1] for p in (found, true)]
        row["end"] = 100 * np.linalg.norm(ends[0][:3, 3] - ends[1][:3, 3]) / way
        found.align(true)
        ape = metrics.APE(metrics.PoseRelation.translation_part)
        ape.process_data((true, found))
        row["ate"], row["near"] = ape.get_statistic(metrics.StatisticsType.rmse), int((ape.error < 0.2).sum())
    return row


def line(drive, harm, program, row, seconds):
    ate, end = (f"{row[k]:.{d}f}" if k in row else "-" for k, d in (("ate", 3), ("end", 2)))
    false = f"{row['false']}, {row['turned']} of {row['tracking']}" if row["tracking"] else "-"
    print(f"| {drive.name} | {harm} | {program} | {row['located']} of {row['good']} | {row['maps']} "
          f"| {row['wrong']} of {row['judged']} | {false} | {ate} | {end} | {1e3 * seconds:.0f} |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("server")
    parser.add_argument("drives", nargs="+")
    parser.add_argument("--peers", default="lk")
    parser.add_argument("--vocabulary", default="")
    parser.add_argument("--every", default="1,2,3,5")
    parser.add_argument("--dark", default="")
    parser.add_argument("--still", type=float, default=3)
    options = parser.parse_args()
    programs = [Glint(options.server)] if options.server != "none" else []
    programs += [Peer(name, [str(options.still), options.vocabulary]) for name in options.peers.split(",") if name]
    print("| drive | pairs | program | located | maps | wrong | false | ATE, m | end, % | processor ms |")
    print("|---" * 10 + "|")
    for folder in options.drives:
        drive = Drive(folder)
        count = len(drive.truth)
        runs = [(f"every {n}." if n > 1 else "all", [(i, False) for i in range(0, count, n)])
                for n in map(int, options.every.split(",") if options.every else [])]
        for many in map(int, options.dark.split(",") if options.dark else []):
            for at in range(10, count - many - 10, 10):
                part = range(max(0, at - 15), min(count, at + 30))
                runs.append((f"{many} dark at {at}", [(i, at <= i < at + many) for i in part]))
        for harm, chosen in runs:
            for program in programs:
                answers, seconds = program.run(drive, chosen)
                line(drive, harm, program.name, judge(drive, chosen, answers), seconds)
    for program in programs:
        program.close()


if __name__ == "__main__":
    main()
