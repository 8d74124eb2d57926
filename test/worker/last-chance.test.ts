import { noCounters } from '../../src/payload/counters';
import { LastChance } from '../../src/worker/last-chance';
import { RunningJob } from '../../src/worker/running-job';

const job = (crashes: number): RunningJob =>
  new RunningJob(
    { queue: 'default', payload: Buffer.from('{}'), counters: { ...noCounters, crashes }, token: undefined },
    'memory',
  );

const lastChance = (): LastChance => new LastChance(({ reservation }) => reservation.counters.crashes >= 2);

it('of what comes at once the first on its last chance is held, the others on theirs go back, and the rest starts', () => {
  const chance = lastChance();
  const [first, suspect, second, other] = [job(0), job(2), job(2), job(1)];

  expect(chance.split([first, suspect, second, other])).toEqual({ start: [first, other], back: [second] });
  expect(chance.held).toBe(suspect);
});

it('nothing else may start from when it is held until it has ended', () => {
  const chance = lastChance();
  chance.split([job(2)]);
  const states = [chance.isTaken];
  const started = chance.start();
  states.push(chance.isTaken);
  chance.end(job(0));
  states.push(chance.isTaken);
  chance.end(started);

  expect([started.isApart, ...states, chance.isTaken]).toEqual([true, true, true, true, false]);
});

it('jobs are asked for one by one from when one was met until none is', () => {
  const chance = lastChance();
  const most = [chance.most];
  chance.split([job(2)]);
  most.push(chance.most);
  chance.end(chance.start());
  chance.split([job(0)]);

  expect([...most, chance.most]).toEqual([Infinity, 1, Infinity]);
});
