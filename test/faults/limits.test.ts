/** Limits of several processes, some of which are killed, believe in another time, or lose their store for a while. */
import { eventually } from '../support/eventually';
import { meantToPass } from '../support/meant-to-pass';
import { requireBuild } from '../support/project';
import { startRedisServer } from '../support/redis-server';
import { Metered, METERED } from './kit/programs/jobs';
import { Stage } from './kit/stage';
import { mostWithin, startsIn } from './soaks/limited-rate';

/** Seconds. The lease of the worker that is killed. That of the others lasts as long as they need. */
const BRIEF = 0.2;
const TEN_MINUTES = 600_000;
/** Milliseconds that a start may follow its decision on a busy machine: in a window that is so much shorter, the limit holds. */
const LATENESS = 1000;

let stage: Stage;

beforeAll(() => requireBuild());
afterEach(() => stage.close());

const jobs = (count: number): Metered[] => Array.from({ length: count }, () => new Metered(10));

// The soak `rate` does so on all stores.
it('a rate limit holds over processes that are killed and believe in other times, and nothing is lost', async () => {
  stage = await Stage.open('redis');
  await stage.dispatch(jobs(60));
  const killed = stage.hire({ concurrency: 10 }, { lease: BRIEF, skew: TEN_MINUTES });
  await eventually(() => stage.ledger.lines.some(({ pid, event }) => pid === killed.pid && event === 'started'), {
    of: 'a start',
  });
  stage.disturbed.add(killed.pid);
  await killed.kill();
  stage.hire({ concurrency: 10 }, { skew: TEN_MINUTES });
  stage.hire({ concurrency: 10 }, { skew: -TEN_MINUTES });
  await stage.drained();
  await stage.dismiss();

  expect(await stage.account()).toMatchObject({ completed: 60, failed: 0, lost: 0, offences: [] });
  expect(mostWithin(startsIn(stage), METERED.every * 1000 - LATENESS)).toBeLessThanOrEqual(METERED.allow);
});

it('a rate limit holds while its store stands still for a while, and nothing is lost', async () => {
  const redis = await startRedisServer();
  stage = await Stage.open('redis', { redis, deadline: meantToPass(1) });
  await stage.dispatch(jobs(60));
  for (let worker = 0; worker < 2; worker += 1) stage.hire({ concurrency: 10 });
  await eventually(() => startsIn(stage).length >= METERED.allow, { of: 'the first starts' });
  redis.process.kill('SIGSTOP');
  await eventually(
    () => stage.ledger.lines.some(({ event, note }) => event === 'said' && note.includes('did not answer')),
    {
      of: 'a call that was given up',
    },
  );
  redis.process.kill('SIGCONT');
  await stage.drained();
  await stage.dismiss();

  expect(await stage.account()).toMatchObject({ completed: 60, failed: 0, lost: 0 });
  expect(mostWithin(startsIn(stage), METERED.every * 1000 - LATENESS)).toBeLessThanOrEqual(METERED.allow);
});

it('jobs of one key never run at the same time, in whatever processes', async () => {
  stage = await Stage.open('redis');
  await stage.dispatch(Array.from({ length: 12 }, () => new Metered(20, 'card')));
  for (let worker = 0; worker < 2; worker += 1) stage.hire({ concurrency: 4 });
  await stage.drained();
  await stage.dismiss();

  const events = stage.ledger.lines
    .filter(({ event }) => event === 'started' || event === 'done')
    .toSorted((a, b) => Number(a.note) - Number(b.note));
  expect(events.map(({ event }) => event)).toEqual(Array.from({ length: 12 }, () => ['started', 'done']).flat());
  expect(await stage.account()).toMatchObject({ completed: 12, offences: [] });
});
