import { noCounters } from '../../src/payload/counters';
import { Apart } from '../../src/worker/apart';
import { RunningJob } from '../../src/worker/running-job';

const job = (crashes: number): RunningJob =>
  new RunningJob(
    { queue: 'default', payload: Buffer.from('{}'), counters: { ...noCounters, crashes }, token: undefined },
    'memory',
  );

const apartJob = (): Apart => new Apart(({ reservation }) => reservation.counters.crashes >= 2);

it('of what comes at once the first on its last chance is held, the others on theirs go back, and the rest starts', () => {
  const chance = apartJob();
  const [first, suspect, second, other] = [job(0), job(2), job(2), job(1)];

  expect(chance.split([first, suspect, second, other])).toEqual({ start: [first, other], back: [second] });
  expect(chance.held).toBe(suspect);
});

it('nothing more is asked for from when it is held until it has ended', () => {
  const chance = apartJob();
  chance.split([job(2)]);
  const states = [chance.isTaken];
  const started = chance.start();
  states.push(chance.isTaken);
  chance.ended(job(0));
  states.push(chance.isTaken);
  chance.ended(started);

  expect([started.isApart, ...states, chance.isTaken]).toEqual([true, true, true, true, false]);
});

it('jobs are asked for one by one from when one was met until none is', () => {
  const chance = apartJob();
  const most = [chance.most];
  chance.split([job(2)]);
  most.push(chance.most);
  chance.ended(chance.start());
  chance.split([job(0)]);

  expect([...most, chance.most]).toEqual([Infinity, 1, Infinity]);
});

it('while one is held, what another call brings starts, but for others on their last chance', () => {
  const chance = apartJob();
  const [suspect, other, late] = [job(2), job(0), job(2)];
  chance.split([suspect]);

  expect(chance.split([other, late])).toEqual({ start: [other], back: [late] });
  expect(chance.held).toBe(suspect);
});
