/**
 * Runs the property tests with fresh seeds: `npm run soak:properties`, or `npm run soak:properties -- --rounds=100`.
 *
 * In `npm test` their seed is fixed (test/support/properties.ts), and what races goes fewer rounds (test/support/soak-size.ts). A seed that fails here is printed; with ONQUEUE_SEED set
 * to it, Jest fails in the same way.
 */
import { spawnSync } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

const root = fileURLToPath(new URL('..', import.meta.url));
const { values } = parseArgs({ options: { rounds: { type: 'string', default: '20' } } });
const rounds = Number(values.rounds);
if (!Number.isInteger(rounds) || rounds < 1) {
  console.error(`--rounds=${values.rounds}: give a whole number above 0.`);
  process.exit(2);
}

const SEEDED = ['test/support/properties.ts', 'test/support/soak-size.ts'];
const failed = [];
for (let round = 1; round <= rounds; round += 1) {
  const seed = randomInt(2 ** 31);
  const { status } = spawnSync('npx', ['--no', 'jest', '--findRelatedTests', ...SEEDED], {
    cwd: root,
    env: { ...process.env, ONQUEUE_SEED: String(seed) },
    stdio: 'ignore',
  });
  if (status !== 0) failed.push(seed);
  console.log(`${round} of ${rounds}: seed ${seed} ${status === 0 ? 'passed' : 'FAILED'}`);
}
console.log(`${rounds - failed.length} of ${rounds} seeds passed.`);
if (failed.length > 0)
  console.log(`To see one fail: ONQUEUE_SEED=${failed[0]} npx jest --findRelatedTests ${SEEDED.join(' ')}`);
process.exitCode = failed.length > 0 ? 1 : 0;
