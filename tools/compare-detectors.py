#!/usr/bin/env python3
"""compare-detectors.py GLINT GLINT-SCENE OUT [VIEWS]: the tables and plots of docs/detectors/comparison.md.

All detectors, at 500 keypoints each, on a rendered scene and, with VIEWS, on photographs: a folder with views 1.png, 2.png,
... of something flat and homographies H_1_N from view 1 to view N, nine numbers each. Writes rotation.csv, views.csv,
claims.csv and SVG files to OUT, and Markdown tables to standard output. Needs the package python3-matplotlib.
"""

import collections
import csv
import glob
import json
import os
import subprocess
import sys
import tempfile

import matplotlib

matplotlib.use("svg")
matplotlib.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "glint", "font.size": 9, "path.simplify": True})
from matplotlib import pyplot  # noqa: E402
import numpy  # noqa: E402

KEEP = 500
STEP = 5  # degrees
NOISE = 0.002  # of the pixels
MEASURES = ("repeatability", "matching_score", "precision")
RBRIEF = ",orientation=intensity-centroid,patch-size=31,descriptors"  # for detectors without a descriptor of their own
DETECTORS = {
    "orb": "orb:features=500",
    "cv::ORB": "orb:features=500@opencv",
    "oriented_fast": "oriented_fast:features=500,descriptors",
    "fast_grid": "fast_grid:features=500" + RBRIEF,
    "pyca": "pyca:features=500",
    "bfrost": "bfrost:features=500",
    "harris": "harris:features=500" + RBRIEF,
}


def compare(glint, detectors, *arguments):
    """Rows of glint compare for {name: spec}, two detectors a run: [{column: text, "detector": name}]."""
    names = list(detectors)
    rows = []
    for i in range(0, len(names), 2):
        pair = (names[i:i + 2] * 2)[:2]
        out = subprocess.run([glint, "compare", "--format", "csv", "--repeat", "1", detectors[pair[0]], detectors[pair[1]],
                              *arguments], check=True, stdout=subprocess.PIPE, text=True).stdout
        name_of = {detectors[name]: name for name in pair}
        seen = set()
        for row in csv.DictReader(out.splitlines()):
            row["detector"] = name_of[row["detector"]]
            key = (row["detector"], row["image"], row["view"])
            if key not in seen:  # an odd one out is compared with itself
                rows.append(row)
            seen.add(key)
    return rows


def render(scene_tool, folder, frames):
    """A wall that rolls by 3 degrees a frame: [path], [homography from the first frame]."""
    subprocess.run([scene_tool, "--out", folder, "--layout", "plane", "--motion", "roll", "--frames", str(frames), "--format",
                    "pnm", "--truth"], check=True)
    with open(os.path.join(folder, "truth/truth.json")) as f:
        truth = json.load(f)
    return sorted(glob.glob(os.path.join(folder, "*.pgm"))), [frame["homography_from_0"] for frame in truth["frames"]]


def add_shot_noise(path, to, seed):
    """Some pixels become black or white."""
    with open(path, "rb") as f:
        magic, width, height, _, pixels = f.read().split(None, 4)
    assert magic == b"P5"
    image = numpy.frombuffer(pixels, numpy.uint8).copy()
    random = numpy.random.RandomState(seed)
    hit = random.random_sample(image.size) < NOISE
    image[hit] = random.randint(0, 2, int(hit.sum())) * 255
    with open(to, "wb") as f:
        f.write(b"P5\n%s %s\n255\n" % (width, height) + image.tobytes())


def views_of(glint, detectors, images, homographies, *arguments):
    return [row for row in compare(glint, detectors, "--homography", ",".join(homographies), *arguments, *images) if row["view"]]


def rotations(glint, detectors, image, *arguments):
    """The same with the angle as "degrees"."""
    rows = [row for row in compare(glint, detectors, "--rotate", str(STEP), *arguments, image) if row["view"]]
    for row in rows:
        row["degrees"] = row["view"].split()[1]
    return rows


def mean(rows, measure):
    return sum(float(row[measure]) for row in rows) / len(rows)


def write_csv(path, columns, rows):
    with open(path, "w", newline="") as f:
        writer = csv.DictWriter(f, columns, extrasaction="ignore", lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def print_table(title, header, rows):
    print(f"\n{title}\n\n| {' | '.join(header)} |\n|{'---|' * len(header)}")
    for row in rows:
        print(f"| {' | '.join(row)} |")


def by_detector(rows):
    groups = collections.defaultdict(list)
    for row in rows:
        groups[row["detector"]].append(row)
    return groups


def draw(path, pictures, x_of, x_label, ticks, **line):
    """A column a picture, a row a measure, a line a detector; `pictures` is {title: rows}."""
    figure, axes = pyplot.subplots(2, len(pictures), figsize=(4.6 * len(pictures), 6), sharex=True, sharey=True, squeeze=False)
    for column, (title, rows) in enumerate(pictures.items()):
        for row, measure in enumerate(MEASURES[:2]):
            axis = axes[row][column]
            for name, of_one in by_detector(rows).items():
                points = [(x_of(r), float(r[measure])) for r in of_one]
                style = {"marker": ".", "linestyle": "none", "color": "black", "markersize": 3} if name == "cv::ORB" else line
                axis.plot(*zip(*points), label=name, linewidth=1, **style)
            axis.set_ylim(0, 1.02)
            axis.set_xticks(ticks)
            axis.grid(alpha=0.3)
            axis.set_ylabel(measure.replace("_", " "))
            axis.set_title(title if row == 0 else "")
        axes[1][column].set_xlabel(x_label)
    figure.legend(*axes[0][0].get_legend_handles_labels(), loc="upper center", ncol=7 if len(pictures) > 1 else 4, frameon=False)
    figure.tight_layout(rect=(0, 0, 1, 0.93))
    figure.savefig(path, metadata={"Date": None, "Creator": None})


def show_rotation(glint, out, pictures):
    rows_of = {}
    for title, image in pictures.items():
        rows_of[title] = rotations(glint, DETECTORS, image, "--keep", str(KEEP))
        for row in rows_of[title]:
            row["picture"] = title
    rows = [row for of_one in rows_of.values() for row in of_one]
    write_csv(os.path.join(out, "rotation.csv"), ("picture", "degrees", "detector") + MEASURES, rows)
    draw(os.path.join(out, "rotation.svg"), rows_of, lambda row: float(row["degrees"]), "degrees", range(0, 361, 90))
    header = ["detector"] + [f"{title}: {measure.replace('_', ' ')}" for title in pictures for measure in MEASURES]
    print_table("Mean over the turns", header,
                [[f"`{name}`"] + [f"{mean(by_detector(rows_of[title])[name], measure):.3f}" for title in pictures
                                  for measure in MEASURES] for name in DETECTORS])


def show_views(glint, out, folder):
    images = sorted(glob.glob(os.path.join(folder, "[0-9].png")))
    homographies = [os.path.join(folder, f"H_1_{i}") for i in range(2, len(images) + 1)]
    rows = views_of(glint, DETECTORS, images, homographies, "--keep", str(KEEP))
    for row in rows:
        row["view"] = os.path.basename(row["image"]).split(".")[0]
    write_csv(os.path.join(out, "views.csv"), ("view", "detector") + MEASURES, rows)
    draw(os.path.join(out, "views.svg"), {"six views of a wall": rows}, lambda row: int(row["view"]), "from view 1 to view",
         range(2, len(images) + 1), linestyle=":", marker="o", markersize=4)
    cells = {(row["detector"], row["view"]): row for row in rows}
    views = sorted({row["view"] for row in rows})
    for measure in MEASURES[:2]:
        print_table(measure, ["detector"] + [f"1 to {view}" for view in views] + ["mean"],
                    [[f"`{name}`"] + [cells[name, view][measure] for view in views] +
                     [f"{mean(by_detector(rows)[name], measure):.3f}"] for name in DETECTORS])


def show_claims(glint, out, pictures, frames, homographies, folder):
    rows = []

    def add(claim, picture, detectors, found):
        for name, of_one in by_detector(found).items():
            rows.append({"claim": claim, "picture": picture, "detector": detectors[name],
                         "keypoints": round(mean(of_one, "keypoints")),
                         **{measure: f"{mean(of_one, measure):.3f}" for measure in MEASURES if of_one[0][measure]}})

    noisy = []
    names = []
    for i, (frame, homography) in enumerate(zip(frames, homographies)):
        noisy.append(os.path.join(folder, f"noisy{i:03d}.pgm"))
        add_shot_noise(frame, noisy[-1], i)
        if i > 0:
            names.append(os.path.join(folder, f"H{i:03d}"))
            with open(names[-1], "w") as f:
                f.write(" ".join(map(repr, homography)))
    for base in ("pyca:features=500", "pyca:levels=1,features=500", "orb:features=500"):
        arcs = {str(arc): f"{base},max-arc={arc}" for arc in (16, 13)}
        for title, image in pictures.items():
            add("bounded rectification", f"{title}, turned", arcs, rotations(glint, arcs, image, "--keep", str(KEEP)))
        for title, images in (("scene, rolled", frames), ("scene, rolled, shot noise", noisy)):
            add("bounded rectification", title, arcs, views_of(glint, arcs, images, names, "--keep", str(KEEP)))
    windows = {str(q): f"pyca:features=20000,aggregation-window={q}" for q in (1, 3, 7)}
    for title, image in pictures.items():
        add("aggregation", f"{title}, turned", windows, rotations(glint, windows, image))
    write_csv(os.path.join(out, "claims.csv"), ("claim", "picture", "detector", "keypoints") + MEASURES, rows)
    print_table("Claims", ["picture", "detector", "keypoints", "repeatability", "matching score", "precision"],
                [[row["picture"], f"`{row['detector']}`", str(row["keypoints"])] + [row.get(m, "") for m in MEASURES]
                 for row in rows])


def main():
    if len(sys.argv) not in (4, 5):
        sys.exit(__doc__)
    glint, scene_tool, out = sys.argv[1:4]
    os.makedirs(out, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        frames, homographies = render(scene_tool, folder, 120)
        pictures = {"scene": frames[0]}
        if len(sys.argv) == 5:
            pictures["photograph"] = os.path.join(sys.argv[4], "1.png")
            show_views(glint, out, sys.argv[4])
        show_rotation(glint, out, pictures)
        show_claims(glint, out, pictures, frames[::10], homographies[::10], folder)


if __name__ == "__main__":
    main()
