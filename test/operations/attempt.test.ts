import { type JobHistory, withRun } from '../../src/operations/history/attempt';
import { noCounters } from '../../src/payload/counters';

const history: JobHistory = {
  name: 'Probe',
  connection: 'main',
  queue: 'default',
  told: { crashes: 0, timeouts: 0 },
  attempts: [],
};

it.each([2 ** 31, 1e15])(
  'the history of a job stays bounded even if its counters were forged to %d crashes',
  (crashes) => {
    const counters = { ...noCounters, attempts: 1, crashes, timeouts: crashes };
    const { attempts } = withRun(history, { fence: 2 * crashes, counters, at: 0, attempt: undefined });
    expect(attempts).toHaveLength(200);
    expect(attempts.at(-1)).toMatchObject({ outcome: 'crashed', fence: 2 * crashes - 1 });
  },
);

it('each crash of a poison job has the moment, worker and signal that its supervisor saw, and only crashes that happened are told', () => {
  const deaths = [2, 3, 9].map((fence) => ({ fence, at: fence * 1000, worker: `host:${fence}`, signal: 'SIGKILL' }));
  const counters = { ...noCounters, attempts: 1, crashes: 3 };
  const { attempts, told } = withRun(history, { fence: 4, counters, at: 60_000, attempt: undefined }, deaths);

  expect(told.crashes).toBe(3);
  expect(attempts).toMatchObject([
    { fence: 1, outcome: 'crashed', at: 60_000, error: expect.stringContaining('died, or was silent') as string },
    {
      fence: 2,
      outcome: 'crashed',
      at: 2000,
      worker: 'host:2',
      signal: 'SIGKILL',
      error: 'Its worker was ended by SIGKILL.',
    },
    { fence: 3, outcome: 'crashed', at: 3000, worker: 'host:3' },
  ]);
});

it('a crash that was told to a history is not told again by a later run', () => {
  const deaths = [{ fence: 1, at: 1000, worker: 'host:1', code: 1 }];
  const counters = { ...noCounters, attempts: 1, crashes: 1 };
  const first = withRun(history, { fence: 2, counters, at: 5000, attempt: undefined }, deaths);
  const { attempts } = withRun(first, { fence: 3, counters, at: 6000, attempt: undefined }, deaths);

  expect(attempts).toMatchObject([{ fence: 1, at: 1000, error: 'Its worker ended with code 1.' }]);
});
