#!/usr/bin/env python3
"""Runs clang-tidy over the sources of the product: tools/tidy.py [--quick] FOLDER...

--quick leaves out Clang's static analyzer, which takes three quarters of the time.

The compile commands are those of build/tidy, which is configured here; only the contract's classes are made in it.

Most of the time of clang-tidy goes into headers (gRPC, Abseil), so sources of neighbouring folders are joined to one
file, which takes a tenth of the time. Sources that cannot be joined, since they define the same local name, go into a
further file.
Sources that Highway compiles once for each SIMD target are checked alone, for one target.
"""

import concurrent.futures
import json
import os
import re
import shlex
import subprocess
import sys

JOINED = 30  # sources of a file, about

LOCATION = re.compile(r'^(?P<file>[^\s:]+):(?P<line>\d+):(?P<rest>\d+: .*)$')


BUILD = 'build/tidy'


def configure():
    for command in (['cmake', '--preset', 'ci', '-B', BUILD, '-DGLINT_JOIN=OFF', '-DGLINT_CUDA=OFF'],
                    ['ninja', '-C', BUILD, 'proto/glint/v1/image.pb.h', 'proto/client/view/foxglove/schemas.pb.h']):
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            sys.exit(done.stdout + done.stderr)


def compile_commands(build):
    """Source -> its flags, without those that name files to write or set warnings."""
    flags = {}
    with open(os.path.join(build, 'compile_commands.json'), encoding='utf-8') as file:
        for entry in json.load(file):
            words = shlex.split(entry['command'])
            kept, i = [], 1
            while i < len(words):
                word = words[i]
                if word == '-isystem':
                    kept += [word, os.path.join(entry['directory'], words[i + 1])]
                    i += 1
                elif word.startswith('-I'):
                    kept.append('-I' + os.path.join(entry['directory'], word[2:]))
                elif word.startswith(('-D', '-std')):
                    kept.append(word)
                i += 1
            flags[os.path.relpath(os.path.join(entry['directory'], entry['file']))] = kept
    return flags


class Unit:
    """Sources joined to one file, or one source as it is."""

    def __init__(self, sources, flags, path):
        self.sources = sources
        self.flags = list(dict.fromkeys(flag for source in sources for flag in pairs(flags[source])))
        self.path = path
        self.starts = []  # (first line in the joined file, source)
        if path == sources[0]:
            return
        with open(path, 'w', encoding='utf-8') as joined:
            line = 1
            for source in sources:
                with open(source, encoding='utf-8') as file:
                    text = file.read()
                self.starts.append((line, source))
                joined.write(text)
                line += text.count('\n')

    def arguments(self):
        return [word for flag in self.flags for word in flag]

    def place(self, line):
        """Source and line of a line of the joined file."""
        start, source = max(pair for pair in self.starts if pair[0] <= line)
        return source, line - start + 1

    def translate(self, text):
        """Output with the places of the joined file replaced by those of the sources."""
        lines = []
        for line in text.splitlines():
            match = LOCATION.match(line)
            if match and self.starts and os.path.basename(match['file']) == os.path.basename(self.path):
                source, number = self.place(int(match['line']))
                line = f'{source}:{number}:{match["rest"]}'
            lines.append(line)
        return '\n'.join(lines)


def pairs(words):
    """Flags as tuples, so that "-isystem DIR" stays together."""
    result, i = [], 0
    while i < len(words):
        size = 2 if words[i] == '-isystem' else 1
        result.append(tuple(words[i:i + size]))
        i += size
    return result


def sources_in_conflict(unit):
    """Those sources of a joined file in which the compiler finds errors."""
    done = subprocess.run(['clang++', '-fsyntax-only', '-ferror-limit=0', '-w', *unit.arguments(), unit.path],
                          capture_output=True, text=True, check=False)
    found = set()
    for line in done.stderr.splitlines():
        match = LOCATION.match(line)
        if match and ' error: ' in line and match['file'] == unit.path:
            found.add(unit.place(int(match['line']))[0])
    return found if found or done.returncode == 0 else set(unit.sources)


def check(unit, options):
    """clang-tidy's findings in one file; empty if there are none."""
    command = ['clang-tidy', '--quiet', '--warnings-as-errors=*', *options, unit.path, '--', *unit.arguments()]
    if not unit.starts:
        command += ['-DHWY_COMPILE_ONLY_STATIC']
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode == 0:
        return ''
    return unit.translate(done.stdout) or done.stderr


def check_joined(name, sources, flags, directory, options):
    """Findings in sources that are joined as far as that is possible."""
    findings, number = [], 0
    while sources:
        path = os.path.join(directory, f'{name}_{number}.cc')
        unit = Unit(sources, flags, path)
        conflicts = sources_in_conflict(unit)
        left = [source for source in sources if source in conflicts]
        if len(left) == len(sources):  # not a conflict of names: let clang-tidy say what it is
            findings += [check(Unit([source], flags, source), options) for source in sources]
            break
        findings.append(check(Unit([source for source in sources if source not in conflicts], flags, path), options))
        sources, number = left, number + 1
    return findings


def main(folders, options):
    configure()
    flags = compile_commands(BUILD)
    directory = os.path.join(BUILD, 'joined')
    os.makedirs(directory, exist_ok=True)
    listed = subprocess.run(['git', 'ls-files', *[f'{folder}/*.cc' for folder in folders]],
                            capture_output=True, text=True, check=True).stdout.split()
    joined, alone = [[]], []
    for source in listed:
        if source not in flags:
            sys.exit(f'{source}: no target has it')
        with open(source, encoding='utf-8') as file:
            if 'HWY_TARGET_INCLUDE' in file.read():
                alone.append(source)
            else:
                # No file has sources of two folders given on the command line, whose flags may differ.
                new = joined[-1] and joined[-1][0].split('/')[0] != source.split('/')[0]
                if new or len(joined[-1]) >= JOINED:
                    joined.append([])
                joined[-1].append(source)
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        largest_first = sorted(joined, key=lambda sources: -len(sources))
        jobs = [pool.submit(check_joined, f'{sources[0].split("/")[0]}_{i}', sources, flags, directory, options)
                for i, sources in enumerate(largest_first) if sources]
        jobs += [pool.submit(lambda source: [check(Unit([source], flags, source), options)], source)
                 for source in alone]
        findings = [text for job in jobs for text in job.result() if text]
    print('\n'.join(findings))
    print(f'clang-tidy: {sum(map(len, joined)) + len(alone)} sources, {len(findings)} with findings')
    return 1 if findings else 0


if __name__ == '__main__':
    quick = sys.argv[1:2] == ['--quick']
    arguments = sys.argv[2:] if quick else sys.argv[1:]
    if not arguments:
        sys.exit(__doc__)
    sys.exit(main(arguments, ['--checks=-clang-analyzer-*'] if quick else []))
