#!/usr/bin/env python3
"""Prints the tables of docs/performance/orin.md: what the kernels take on sm_87, and times predicted for Jetson Orin.

  tools/predict-orin.py [--nvcc NVCC] [--nvdisasm NVDISASM] [--microbench build/ci/bench/glint-microbench]

No GPU is needed. nvcc compiles the kernels of detection, localization and JPEG for sm_87 and sm_90 below build/orin/;
ptxas says what they take, nvdisasm (PyPI: nvidia-cuda-nvdisasm) lists their instructions, and `glint-microbench plan`
has the launches. Times are from these, from measured figures below (whose pages are named beside them), and from the
clocks and bandwidths of BOARDS. Three minutes on one processor.
"""

import argparse
import collections
import glob
import json
import math
import os
import re
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
OUT = os.path.join(ROOT, 'build/orin')
# Of cuda/CMakeLists.txt and the release build.
FLAGS = ['-O2', '-DNDEBUG', '--fmad=false', '--expt-relaxed-constexpr', '-std=c++17', '-Xptxas=-v']

# NVIDIA, CUDA C++ Programming Guide, technical specifications by compute capability.
Limits = collections.namedtuple('Limits', 'warps blocks shared')
LIMITS = {87: Limits(48, 16, 164 * 1024), 90: Limits(64, 32, 228 * 1024)}
REGISTERS, RESERVED = 65536, 1024  # of a multiprocessor; bytes of shared memory that the system takes of a block
ISSUE = 4  # warp instructions that a multiprocessor issues in a cycle

Machine = collections.namedtuple('Machine', 'name sms ghz gbs')  # gbs: 0 where memory is not modelled
# As NVIDIA publishes them: the page names the documents.
BOARDS = [Machine('Nano 8 GB, 15 W', 8, 0.612, 68), Machine('Nano 8 GB, MAXN SUPER', 8, 1.020, 102),
          Machine('NX 16 GB, 25 W', 8, 0.408, 102.4), Machine('NX 16 GB, MAXN', 8, 0.918, 102.4),
          Machine('AGX 64 GB, MAXN', 16, 1.300, 204.8)]
H8 = Machine('8 SMs of an H200', 8, 1.98, 0)

# Kernels: what each does on which path, file, entry function, threads of a block, dynamic bytes of shared memory (of
# `glint-microbench plan`: 1920x1080 for `orb`, 1226x370 for `orbslam`, 8 multiprocessors).
KERNELS = [
    ('detect', 'pyramid: a level', 'pyramid/cascaded', 'BuildLevelKernel<4, false>', 128, 0),
    ('detect', 'pyramid: small levels', 'pyramid/small_levels', 'BuildSmallLevelsKernel<false>', 512, 33808),
    ('detect', 'corners, strips', 'corners/fast_tiles', 'FindStripCornersKernel<9>', 128, 25024),
    ('detect', 'corners, tiles', 'corners/fast_tiles', 'FindTileCornersKernel<9, false, false>', 128, 19824),
    ('detect', 'shortlist', 'select/shortlist', 'ShortlistKernel<true, false>', 256, 0),
    ('detect', 'rank and orient', 'describe/orient', 'OrientKernel<true, true, 256>', 256, 0),
    ('detect', 'describe', 'describe/rbrief', 'DescribeKernel<false>', 128, 17792),
    ('localize', 'rectify', 'rectify/remap', 'RemapKernel', 128, 0),
    ('localize', 'pyramid: a level', 'pyramid/cascaded', 'BuildLevelKernel<4, true>', 128, 0),
    ('localize', 'pyramid: small levels', 'pyramid/small_levels', 'BuildSmallLevelsKernel<true>', 512, 33808),
    ('localize', 'pyramid by pairs (*)', 'pyramid/pairs', 'BuildPairsKernel<4, true>', 128, 0),
    ('localize', 'corners of cells', 'corners/fast_cells', 'FindCellCornersKernel', 320, 23720),
    ('localize', 'quadtree', 'select/quadtree', 'SelectByQuadtreeKernel', 1024, 63632),
    ('localize', 'rank and orient', 'describe/orient', 'OrientKernel<false, true, 256>', 256, 0),
    ('localize', 'describe', 'describe/rbrief', 'DescribeKernel<true>', 128, 17792),
    ('localize', 'pair: gather', 'stereo/rows', 'GatherKernel', 256, 0),
    ('localize', 'pair: count rows', 'stereo/rows', 'CountRowsKernel', 256, 0),
    ('localize', 'pair: sort by rows', 'stereo/rows', 'SortByRowsKernel', 1024, 0),
    ('localize', 'pair: nearest', 'stereo/nearest', 'FindNearestKernel', 128, 0),
    ('localize', 'pair: refine', 'stereo/refine', 'RefineKernel', 128, 0),
    ('localize', 'pair: finish', 'stereo/finish', 'FinishStereoKernel', 1024, 0),
    ('localize', 'track: halve levels', 'track/levels', 'HalveLevelsKernel', 256, 0),
    ('localize', 'track, with gain', 'track/lucas_kanade', 'TrackKernel<1, true>', 32, 0),
    ('track', 'track', 'track/lucas_kanade', 'TrackKernel<1, false>', 32, 0),
    ('JPEG', 'count stuffing', 'jpeg/unstuff', 'CountStuffingKernel', 256, 0),
    ('JPEG', 'remove stuffing', 'jpeg/unstuff', 'RemoveStuffingKernel', 256, 0),
    ('JPEG', 'find symbols, grey', 'jpeg/find_symbols', 'FindSymbolsKernel<BlockShape<128, 16u> >', 128, 0),
    ('JPEG', 'find symbols', 'jpeg/find_symbols', 'FindSymbolsKernel<BlockShape<192, 32u> >', 192, 0),
    ('JPEG', 'write coefficients', 'jpeg/write_coefficients', 'WriteCoefficientsKernel', 96, 0),
    ('JPEG', 'write luma', 'jpeg/write_luma', 'WriteLumaKernel', 128, 0),
]

# Instructions by their first word.
CLASSES = {
    'float': r'F(ADD|FMA|MUL|SETP|SEL|MNMX|CHK)|D(ADD|MUL|FMA|SETP)|H\w+|MUFU|I2FP?|F2[IF]',
    'shared': r'LDS|STS|ATOMS|LDSM|LDGSTS',
    'global': r'LDG|STG|LD|ST|ATOMG?|REDG?',
    'local': r'LDL|STL',
    'warp': r'SHFL|VOTEU?|MATCH|REDUX',
    'control': r'BRA|BRX|EXIT|BSSY|BSYNC|BREAK|CALL|RET|BAR|WARPSYNC|BMOV|YIELD|NOP|MEMBAR|ERRBAR|\w*DEPBAR|CCTL'
               r'|PREEXIT|ACQBULK|ENDCOLLECTIVE|NANOSLEEP|FENCE',
}


class Kernel:
    """What ptxas and nvdisasm say of a function."""

    def __init__(self, name):
        self.registers, self.shared, self.spills = 0, 0, (0, 0)  # spills: bytes stored, loaded
        self.code, self.loops = [], []  # loops: first and last instruction
        self.name = name

    def classes(self):
        counts = collections.Counter()
        for text in self.code:
            word = re.match(r'(?:@!?U?P\w+ +)?(\w+)', text)[1]
            counts[next((c for c, p in CLASSES.items() if re.fullmatch(p, word)), 'integer')] += 1
        return counts

    def resident(self, arch, threads, dynamic):
        """Warps of a multiprocessor, and what limits them."""
        limits, warps = LIMITS[arch], threads // 32
        of_warp = math.ceil(self.registers * 32 / 256) * 256
        of_block = math.ceil((self.shared + dynamic + RESERVED) / 128) * 128
        blocks = {'warps': limits.warps // warps, 'blocks': limits.blocks,
                  'registers': REGISTERS // 4 // of_warp * 4 // warps, 'shared memory': limits.shared // of_block}
        least = min(blocks, key=blocks.get)
        return blocks[least] * warps, least


def run(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True)


def short(name):
    name = re.sub(r'glint::cuda::|\(anonymous namespace\)::', '', name)
    return re.sub(r'^void |\(.*$', '', name)


def compile_file(path, arch, args):
    """The functions of cuda/PATH.cu by name, without arguments, and what spills."""
    cubin = os.path.join(OUT, f'{path.replace("/", "-")}.{arch}.cubin')
    sources = [p for d in ('cuda', 'features') for p in glob.glob(f'{ROOT}/{d}/**/*.*', recursive=True)]
    if not os.path.exists(cubin) or os.path.getmtime(cubin) < max(map(os.path.getmtime, sources)):
        done = run(args.nvcc, '-cubin', f'-arch=sm_{arch}', *FLAGS, f'-I{ROOT}', f'{ROOT}/cuda/{path}.cu', '-o', cubin)
        with open(cubin + '.txt', 'w') as f:
            f.write(done.stderr)
    functions, spilled = {}, []
    with open(cubin + '.txt') as f:
        text = subprocess.run(['c++filt'], input=f.read(), check=True, capture_output=True, text=True).stdout
    for name, stores, loads, used in re.findall(r'Function properties for (.*)\n.*?(\d+) bytes spill stores, '
                                                r'(\d+) bytes spill loads\n(?:.*: Used (.*))?', text):
        function = functions.setdefault(short(name), Kernel(short(name)))
        function.spills = int(stores), int(loads)
        if function.spills != (0, 0):
            spilled.append(f'{function.name}: {stores}, {loads}')
        if used:
            function.registers = int(used.split()[0])
            function.shared = int((re.search(r'(\d+) bytes smem', used) or [0, 0])[1])
    read_code(run(args.nvdisasm, '-c', cubin).stdout, functions)
    return functions, spilled


def read_code(text, functions):
    for mangled, body in re.findall(r'^\.text\.(\S+):\n(.*?)(?=^\t\.section|\Z)', text, re.MULTILINE | re.DOTALL):
        function = functions.get(short(run('c++filt', mangled).stdout.strip()))
        if not function:
            continue
        labels, code = {}, []
        for line in body.splitlines():
            if label := re.match(r'(\.L_x_\d+):', line):
                labels[label[1]] = len(code)
            elif instruction := re.match(r'\s+/\*[0-9a-f]{4,}\*/\s+(.*?)\s*(?:\(\*.*\*\))?;', line):
                code.append(instruction[1])
        ends = {i: labels.get(m[1], i) for i, c in enumerate(code) if (m := re.search(r'\bBRA\b.*\((\.L_x_\d+)\)', c))}
        while code and (code[-1].startswith('NOP') or ends.get(len(code) - 1) == len(code) - 1):  # behind the end
            code.pop()
        function.code, function.loops = code, sorted((to, i) for i, to in ends.items() if to < i < len(code))


# --- Warp instructions of a launch, from the code

# Instructions of sm_90 that a warp executes, counted by hand along the path that nearly all take (a patch within the
# level; a row of pixels stored at once), and the size of the function for which that holds.
BY_HAND = {'DescribeKernel<false>': (3893, 2114), 'WriteLumaKernel': (500, 388)}  # for a keypoint; in all


def by_hand(functions, name):
    size, count = BY_HAND[name]
    if len(functions[name, 90].code) != size:
        sys.exit(f'{name} of sm_90 has {len(functions[name, 90].code)} instructions, not {size}: count again')
    return count


def level_instructions(function, launch):
    """A warp of BuildLevelKernel<4, ...> begins, then goes round its loop for every four rows."""
    (first, last), = function.loops
    rounds = int(re.search(r'(\d+) rows a thread', launch['variant'])[1]) // 4
    return launch['grid'][0] * launch['block'][0] // 32 * (first + rounds * (last - first + 1))


class Plan:
    """A frame of `orb` on 8 multiprocessors."""

    def __init__(self, args, size):
        plan = json.loads(run(args.microbench, 'plan', '--preset', 'orb', '--size', size, '--sm-limit', '8',
                              '--describe', '--format', 'json').stdout)
        self.launches = plan['launches']
        self.pixels = [level['width'] * level['height'] for level in plan['levels']]

    def pyramid(self, function):
        """Warp instructions. Not where small levels share a launch, whose rounds the plan does not tell."""
        launches = [launch for launch in self.launches if launch['stage'] == 'pyramid']
        assert all(launch['kernel'] == 'level' for launch in launches)
        return sum(level_instructions(function, launch) for launch in launches)

    def bytes(self):
        """Bytes that stages move, if the caches keep nothing from launch to launch: levels read and written once; 43
        rows of 64 bytes a patch, its descriptor. Corners: 41 x 160 bytes for 33 x 124 pixels that a strip owns."""
        return {'pyramid': sum(self.pixels[:-1]) + sum(self.pixels[1:]),
                'corners': round(sum(self.pixels) * 41 * 160 / (33 * 124)), 'describe': KEYPOINTS * (43 * 64 + 32)}


# --- Measured figures, microseconds

KEYPOINTS = 2000
EVENT = 1.3  # of each stage
# docs/performance/cuda.md, 8 multiprocessors: stages with their events; frames: detect, detect + describe.
STAGES = {'peru': (16.1, 39.0, 29.1), 'city': (45.3, 241.8, 33.2), 'earth': (45.3, 81.4, 27.6),
          'city4': (129.9, 930.6, 47.8)}
FRAMES = {'peru': (73.5, 160), 'city': (308.0, 395), 'earth': (142.3, None), 'city4': (1096, None)}
DESCRIBE = 86.3
SIZES = {'peru': '640x480', 'city': '1920x1080', 'earth': '1920x1080', 'city4': '3840x2160'}
# docs/performance/cuda.md: warp instructions by ncu on the whole GPU, millions; the stage on 8 multiprocessors.
COUNTED = [('corners of `orb`, city', 12.7, 241.8), ('corners of `orb`, earth', 5.6, 81.4),
           ('corners of `orb`, city4: four times city', 4 * 12.7, 930.6),
           ('corners of `oriented_fast`, 1 level, city', 6.6, 142), ('corners of `fast_grid`, city', 5.0, 102.7),
           ('dense Harris, city', 7.0, 125.2)]
# Of these a block counts all candidates, and there are as many blocks as multiprocessors allow.
RANKING = [('ranking of `fast_grid`, city', 0.3, 8.0), ('ranking of dense Harris, city', 1.2, 11.1)]
# docs/tracking.md and docs/notes/cuda-tried.md: 7008 instructions a point, of 100 points without --to (H100, launches
# back to back); points and time on 8 multiprocessors.
TRACKED = [(100, 24.2), (300, 52.3), (600, 95.3), (4000, 531)]
TRACKED_PAIR = [(100, 32.1), (300, 57.6), (600, 99.7)]
# docs/notes/cuda-tried.md: frames of `orb` on 8 and on 20 multiprocessors.
MORE = [('city, strips', 311.7, 130.9), ('city, tiles', 316.2, 124.6), ('earth, strips', 145, 76.8),
        ('earth, tiles', 174, 73.5)]
# docs/performance/jpeg.md, 8 multiprocessors: bytes of the file; stages with their events; all on the device.
JPEG = {'city, quality 80, grey': (573e3, (39, 216, 111, 60), 414),
        'city, quality 80, 4:2:0': (658e3, (42, 590, 119, 60), 801),
        'city, quality 95, 4:2:0': (1278e3, (73, 1199, 181, 60), 1505)}
# docs/matching.md: a pair of 1226x370 with 2000 features an image of `orb`, host to host, 8 multiprocessors.
PAIR = [('pair 1226x370, `orb`, host to host: features of both', 341), ('the same: matching', 114)]
LUMA_BLOCKS = 1920 * 1080 // 64


def floor(instructions, machine):
    """Microseconds with every issue slot used."""
    return instructions / (machine.sms * ISSUE * machine.ghz * 1e3)


def scaled(us, machine):
    """A time on 8 multiprocessors of an H200 as issue slots, and as the time of as many slots here."""
    return us * H8.sms * H8.ghz / (machine.sms * machine.ghz)


def memory(count, machine):
    return count / (machine.gbs * 1e3)


def two_digits(x):
    return f'{x:.{max(0, 1 - math.floor(math.log10(x)))}f}'


# --- Tables


def print_kernels(functions, spilled):
    print('| path | kernel | threads | registers | spilled | shared, bytes | resident warps of 48; limit '
          '| of 64, sm_90 | instructions, sm_90 | integer and logic, float, shared, global, across lanes, control |')
    print('|---' * 10 + '|')
    for path, label, _, name, threads, dynamic in KERNELS:
        k, other = functions[name, 87], functions[name, 90]
        warps, limit = k.resident(87, threads, dynamic)
        classes = k.classes()
        counts = ', '.join(str(classes[c]) for c in ('integer', 'float', 'shared', 'global', 'warp', 'control'))
        print(f'| {path} | {label} | {threads} | {k.registers} | {"%d, %d" % k.spills if any(k.spills) else 0} '
              f'| {k.shared + dynamic} | {warps}; {limit} | {other.resident(90, threads, dynamic)[0]} '
              f'| {len(k.code)}, {len(other.code)} | {counts} |')
    print('\nSpills of sm_87, bytes stored, loaded:', '; '.join(spilled))


def checks(functions, args):
    """(what, millions of warp instructions, floor, measured) on 8 multiprocessors."""
    rows = [(what, count, measured - EVENT) for what, count, measured in COUNTED]
    for image in ('city', 'city4'):
        count = Plan(args, SIZES[image]).pyramid(functions['BuildLevelKernel<4, false>', 90]) / 1e6
        rows.append((f'pyramid, {image}', count, STAGES[image][0] - EVENT))
    rows.append(('describe, 2000 keypoints', KEYPOINTS * by_hand(functions, 'DescribeKernel<false>') / 1e6,
                 DESCRIBE - EVENT))
    rows.append(('JPEG, luma of city', LUMA_BLOCKS / 4 * by_hand(functions, 'WriteLumaKernel') / 1e6,
                 JPEG['city, quality 80, grey'][1][3] - EVENT))
    rows += [(f'tracking, {points} points', points * 7008e-6, us) for points, us in TRACKED]
    return [(what, count, floor(count * 1e6, H8), us) for what, count, us in rows]


def print_checks(rows):
    """Each is predicted by its floor and the mean of the others' factors."""
    logs = [math.log(us / least) for _, _, least, us in rows]
    print('\n| on 8 multiprocessors | warp instructions, M | floor | predicted | measured | measured / floor | error |')
    print('|---' * 7 + '|')
    errors = []
    for (what, count, least, us), own in zip(rows, logs):
        predicted = least * math.exp((sum(logs) - own) / (len(logs) - 1))
        errors.append(predicted / us - 1)
        print(f'| {what} | {count:.2f} | {least:.1f} | {predicted:.1f} | {us:.1f} | {us / least:.2f} '
              f'| {errors[-1]:+.0%} |')
    sizes, factor = sorted(map(abs, errors)), math.exp(sum(logs) / len(logs))
    print(f'\nfactor {factor:.2f}; error {min(errors):+.0%} to {max(errors):+.0%}, median size '
          f'{sizes[len(sizes) // 2]:.0%}, at most 20 %: {sum(e <= 0.2 for e in sizes)} of {len(sizes)}')
    by_name = {what.split(':')[0]: (least, us) for what, _, least, us in rows}
    for image in ('city', 'earth', 'city4'):
        parts = by_name[f'corners of `orb`, {image}'], by_name['pyramid, ' + ('city4' if image == 'city4' else 'city')]
        predicted, us = factor * sum(p[0] for p in parts), sum(p[1] for p in parts)
        print(f'pyramid and corners, {image}: predicted {predicted:.0f}, measured {us:.0f}, {predicted / us - 1:+.0%}')
    for what, count, us in RANKING:
        print(f'not in it: {what}: {count} M, floor {floor(count * 1e6, H8):.1f}, measured {us - EVENT:.1f}')
    print('\n| from 8 to 20 multiprocessors | 8 | predicted | measured | error |\n|---|---|---|---|---|')
    for what, eight, twenty in MORE:
        print(f'| {what} | {eight} | {eight * 8 / 20:.1f} | {twenty} | {eight * 8 / 20 / twenty - 1:+.0%} |')


def fewer_warps(functions, most):
    """By kernel, how many times fewer warps a multiprocessor has of sm_87 than of sm_90, where there are `most`."""
    factors = {}
    for _, _, _, name, threads, dynamic in KERNELS:
        warps = {arch: min(most, functions[name, arch].resident(arch, threads, dynamic)[0]) for arch in LIMITS}
        factors[name] = max(1, warps[90] / warps[87])
    return factors


def frame(stages, whole, machine, fewer):
    """(predicted, worst) of a frame: `stages`: (us on 8 multiprocessors, bytes, kernel). A stage takes as long as its
    issue slots or its bytes; at worst, its slots take longer as fewer warps are resident. `whole`: the frame's time,
    in which stages overlap."""
    least = most = scaled(whole, machine)
    for us, count, kernel in stages:
        time, there = scaled(us, machine), memory(count, machine)
        least += max(0, there - time)
        most += max(0, there - time, time * (fewer.get(kernel, 1) - 1))
    return least, most


def print_predictions(functions, args):
    print('\n| stage | 8 SMs of an H200, measured | bytes, M | ' + ' | '.join(m.name for m in BOARDS) + ' |')
    print('|---' * (3 + len(BOARDS)) + '|')

    def row(what, us, count):
        times = [(scaled(us, m), memory(count, m)) for m in BOARDS]
        cells = [f'{max(slots, there):.0f}' + (' (bytes)' if there > slots else '') for slots, there in times]
        print(f'| {what} | {us:.1f} | {f"{count / 1e6:.1f}" if count else "-"} | ' + ' | '.join(cells) + ' |')

    frames = []
    for image, (pyramid, corners, select) in STAGES.items():
        plan = Plan(args, SIZES[image])
        moved = plan.bytes()
        strips = any('strips' in launch['variant'] for launch in plan.launches)
        corner_kernel = 'FindStripCornersKernel<9>' if strips else 'FindTileCornersKernel<9, false, false>'
        stages = [(pyramid - EVENT, moved['pyramid'], 'BuildLevelKernel<4, false>'),
                  (corners - EVENT, moved['corners'], corner_kernel),
                  (select - EVENT, 0, 'OrientKernel<true, true, 256>')]
        for what, (us, count, _) in zip(('pyramid', 'corners', 'shortlist, rank, orient'), stages):
            if image in ('city', 'earth'):
                row(f'{image}, {what}', us, count)
        frames.append((f'{image}, detect', stages, FRAMES[image][0], math.inf))
        stages = stages + [(DESCRIBE - EVENT, moved['describe'], 'DescribeKernel<false>')]
        if FRAMES[image][1]:
            frames.append((f'{image}, detect + describe', stages, FRAMES[image][1], math.inf))
    row('describe, 2000 keypoints', DESCRIBE - EVENT, moved['describe'])
    for file, (size, times, whole) in JPEG.items():
        shape = '128, 16u' if 'grey' in file else '192, 32u'
        names = [('stuffing', 'RemoveStuffingKernel', lambda b: 3 * b),
                 ('symbols', f'FindSymbolsKernel<BlockShape<{shape}> >', lambda b: b),
                 ('coefficients', 'WriteCoefficientsKernel', lambda b: b + LUMA_BLOCKS * 128),
                 ('luma', 'WriteLumaKernel', lambda b: LUMA_BLOCKS * (256 + 64))]
        stages = [(us - EVENT, moved(size), kernel) for us, (_, kernel, moved) in zip(times, names)]
        if file == next(iter(JPEG)):
            for (what, _, _), (us, count, _) in zip(names, stages):
                row(f'JPEG, {file}: {what}', us, count)
        frames.append((f'JPEG, {file}: to luma', stages, whole, math.inf))
    frames += [(what, [], us, math.inf) for what, us in PAIR]
    frames += [(f'tracking, {points} points (H100)', [(us, 0, 'TrackKernel<1, false>')], us, points / 8)
               for points, us in TRACKED_PAIR]
    print('\n| frame | 8 SMs of an H200, measured | ' + ' | '.join(m.name for m in BOARDS) + ' |')
    print('|---' * (2 + len(BOARDS)) + '|')
    for what, stages, whole, most_warps in frames:
        cells = []
        for machine in BOARDS:
            fewer = fewer_warps(functions, most_warps * 8 / machine.sms)
            least, most = (t / 1e3 for t in frame(stages, whole, machine, fewer))
            cells.append(two_digits(least) + (f' to {two_digits(most)}' if most > 1.02 * least else ''))
        print(f'| {what} | {whole / 1e3:.3g} | ' + ' | '.join(cells) + ' |')


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--nvcc', default='/usr/local/cuda/bin/nvcc')
    parser.add_argument('--nvdisasm', default='nvdisasm')
    parser.add_argument('--microbench', default=os.path.join(ROOT, 'build/ci/bench/glint-microbench'))
    args = parser.parse_args()
    os.makedirs(OUT, exist_ok=True)
    functions, spilled = {}, {arch: [] for arch in LIMITS}
    for path in sorted({kernel[2] for kernel in KERNELS}):
        for arch in LIMITS:
            found, spills = compile_file(path, arch, args)
            functions |= {(name, arch): function for name, function in found.items()}
            spilled[arch] += spills
    print_kernels(functions, spilled[87])
    print_checks(checks(functions, args))
    print_predictions(functions, args)


if __name__ == '__main__':
    main()
