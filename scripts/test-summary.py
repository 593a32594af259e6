#!/usr/bin/env python3
"""What a run of CTest came to: scripts/test-summary.py [--strict] [--counts FILE] RESULTS.xml

RESULTS.xml is what `ctest --output-junit` wrote. Lists failed programs, then each reason for which cases were skipped and
what would make them run, then one line "N passed, N failed, N skipped" of test cases. CTest counts programs; the cases
of each are counted from the output of GoogleTest and Python's unittest. A program without such output is one case.

--strict  a case that is skipped for another reason than a missing GPU is a failure; so are those that want photographs,
          EuRoC's pictures or nodes of ROS 2, where GLINT_TEST_DATA, GLINT_TEST_EUROC or GLINT_ROS2_PYTHON names some,
          and long ones, where GLINT_ROS2_ALL is set
--counts  also write "PASSED FAILED SKIPPED" there

Exit status 1 if a case failed or none passed.
"""

import argparse
import collections
import os
import re
import subprocess
import sys
import xml.etree.ElementTree

SETUP = os.path.join(os.path.dirname(os.path.abspath(__file__)), 'setup.sh')
VARIABLES = 'GLINT_TEST_DATA', 'GLINT_TEST_EUROC', 'GLINT_ROS2_PYTHON', 'GLINT_ROS2_ALL'  # that reasons begin with
GPU = re.compile(r'no usable CUDA device[^;(]*|.*\bGPU\b.*')
GTEST = {kind: re.compile(r'^\[  %s +\] (\d+) test' % kind, re.M) for kind in ('PASSED', 'FAILED', 'SKIPPED')}
GTEST_REASON = re.compile(r': Skipped\n(.*)$', re.M)
UNITTEST = re.compile(r'^Ran (\d+) tests? in .*\n+(?:OK|FAILED|NO TESTS RAN)(?: \((.*)\))?$', re.M)
UNITTEST_REASON = re.compile(r''' \.\.\. skipped (['"])(.*)\1$''', re.M)
SKIP_ALL = re.compile(r'GLINT_SKIP_ALL[: ]*(.*)')
MISSING = re.compile(r'^(\S+) is not installed')


class Counts:
    def __init__(self):
        self.passed = self.failed = 0
        self.skipped = collections.Counter()  # by reason

    def add(self, case):
        """Adds the cases of a program; whether it failed."""
        output = ''.join(part.text or '' for part in case.iter('system-out'))
        skipped = case.find('skipped')
        omitted = skipped is not None and skipped.get('message', '').startswith('SKIP_')
        bad = case.get('status') == 'fail' or (skipped is not None and not omitted)  # not run is not green
        before = self.passed + self.failed + sum(self.skipped.values())
        failed_before = self.failed
        self.add_gtest(output)
        self.add_unittest(output)
        if bad:
            self.failed += self.failed == failed_before
        elif self.passed + self.failed + sum(self.skipped.values()) == before:
            if omitted:
                said = SKIP_ALL.search(output)
                self.skipped[said[1] if said and said[1] else 'no reason given'] += 1
            else:
                self.passed += 1
        return bad or self.failed > failed_before

    def add_gtest(self, output):
        numbers = {kind: sum(map(int, pattern.findall(output))) for kind, pattern in GTEST.items()}
        self.passed += numbers['PASSED']
        self.failed += numbers['FAILED']
        reasons = GTEST_REASON.findall(output)[:numbers['SKIPPED']]
        self.skipped.update(reason.strip() or 'no reason given' for reason in reasons)
        if numbers['SKIPPED'] > len(reasons):
            self.skipped['no reason given'] += numbers['SKIPPED'] - len(reasons)

    def add_unittest(self, output):
        reasons = [reason for _, reason in UNITTEST_REASON.findall(output)]
        for ran, notes in UNITTEST.findall(output):
            numbers = collections.Counter({key: int(n) for key, n in re.findall(r'([a-z ]+)=(\d+)', notes)})
            failed = sum(numbers[key] for key in ('failures', 'errors', 'unexpected successes'))
            self.failed += failed
            self.passed += max(0, int(ran) - failed - numbers['skipped'])
            self.skipped.update(reasons[:numbers['skipped']])
            reasons = reasons[numbers['skipped']:]


def remedy(reason):
    """What would make cases run that were skipped for this reason."""
    missing = MISSING.match(reason)
    if missing:
        group = subprocess.run([SETUP, '--group-of', missing[1]], capture_output=True, text=True, check=False).stdout
        if group:
            return f' (scripts/setup.sh {group.strip()})'
    return ''


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument('--strict', action='store_true')
    parser.add_argument('--counts')
    parser.add_argument('results')
    options = parser.parse_args()
    counts = Counts()
    for case in xml.etree.ElementTree.parse(options.results).getroot().iter('testcase'):
        if counts.add(case):
            print('failed:', case.get('name'))
    gpu, others = collections.Counter(), collections.Counter()
    for reason, number in counts.skipped.items():
        need = GPU.search(reason)
        (gpu if need else others)[need[0].strip() if need else reason] += number
    for heading, group in (('for want of a usable GPU', gpu), ('for other reasons', others)):
        if group:
            print(f'skipped {heading}: {sum(group.values())}')
        for reason, number in group.most_common():
            print(f'{number:6d}  {reason}{remedy(reason)}')
    failed, skipped = counts.failed, sum(counts.skipped.values())
    if options.strict:
        unset = tuple(name for name in VARIABLES if name not in os.environ)
        avoidable = sum(number for reason, number in others.items() if not reason.startswith(unset))
        if avoidable:
            print(f'test-summary.py: --strict: {avoidable} of them count as failed')
        failed += avoidable
        skipped -= avoidable
    if options.counts:
        with open(options.counts, 'w', encoding='ascii') as file:
            file.write(f'{counts.passed} {failed} {skipped}\n')
    print(f'{counts.passed} passed, {failed} failed, {skipped} skipped')
    return 1 if failed or not counts.passed else 0


if __name__ == '__main__':
    sys.exit(main())
