/**
 * Runs the checks and the tests and ends with the line `N passed, N failed`, which counts every test and every check.
 *
 * Called by `.ci/run`, after `npm ci`. Each command runs in its own process group, all of which ends with it: a server that
 * a killed test left behind must not outlive the run.
 */
import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const folder = mkdtempSync(join(tmpdir(), 'onqueue-ci-'));
const checksReport = join(folder, 'checks.json');
/** The first is what the README tells; the second takes what breaks servers, and needs a browser and whole projects. */
const TESTS = ['test', 'test:whole'];

let running;
const endGroup = () => {
  try {
    if (running !== undefined) process.kill(-running.pid, 'SIGKILL');
  } catch {
    // The group has already ended.
  }
};
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) {
  process.on(signal, () => {
    endGroup();
    process.exit(1);
  });
}

/** Resolves with the exit code, once nothing of the command is left. */
function npm(...args) {
  return new Promise((resolve) => {
    running = spawn('npm', args, { cwd: root, detached: true, stdio: ['ignore', 'inherit', 'inherit'] });
    running.on('exit', (code) => {
      endGroup();
      resolve(code ?? 1);
    });
  });
}

/** A missing report means that the run did not get that far, and counts as one failure. */
function read(path, count) {
  try {
    return count(JSON.parse(readFileSync(path, 'utf8')));
  } catch {
    return { passed: 0, failed: 1 };
  }
}

const checksCode = await npm('run', 'check', '--', '--report', checksReport);
const checks = read(checksReport, (counts) => counts);
let { passed, failed } = checks;
const codes = [['check', checksCode]];
for (const script of TESTS) {
  const report = join(folder, 'tests.json');
  rmSync(report, { force: true });
  codes.push([script, await npm('run', script, '--', '--json', '--outputFile', report)]);
  const tests = read(report, (counts) => ({
    passed: counts.numPassedTests,
    // A suite that could not run, or that left something open, has no failed test.
    failed: counts.numFailedTests + counts.numRuntimeErrorTestSuites,
  }));
  passed += tests.passed;
  failed += tests.failed;
  if (tests.passed + tests.failed > 0) continue;
  console.error(`npm run ${script}: no test ran.`);
  failed += 1;
}
rmSync(folder, { recursive: true, force: true });

const failures = codes.filter(([, code]) => code !== 0);
if (failed === 0 && failures.length > 0) {
  console.error(`Every test passed, but a command failed: ${failures.map((pair) => pair.join(' with ')).join(', ')}.`);
  failed += 1;
}
process.exitCode = failed > 0 ? 1 : 0;
console.log(`${passed} passed, ${failed} failed`);
