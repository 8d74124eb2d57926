import type { RecoveredEvent } from '../../src/job/hooks';
import { application, Note, ran, setTheScene } from './scene';
import { Job } from '../../src/job/job';
import { Worker } from '../../src/worker/worker';
import { payloadOf } from '../support/reservation';
import { reserveFrom } from '../support/exchange';

setTheScene();

@Job()
class Again extends Job {
  constructor(readonly text: string) {
    super();
  }
  handle(): void {
    ran.push(this.text);
    if (ran.length === 1) this.release();
  }
}

it('a job taken over from a dead worker is reported to the log and a hook before it runs', async () => {
  const { manager, clock, log } = application;
  const driver = manager.driver();
  await driver.push('default', [{ payload: payloadOf(new Note('taken over')).toString() }]);
  await driver.push('default', [{ payload: payloadOf(new Note('met for the first time')).toString() }]);
  // The worker that dies.
  const { reservations } = await reserveFrom(driver, { queues: ['default'], limit: 1, lease: 30 });
  await clock.advance('31s');
  const told: RecoveredEvent[] = [];
  const ranBefore: number[] = [];
  manager.hooks.on('recovered', (event) => {
    told.push(event);
    ranBefore.push(ran.length);
  });

  await new Worker({ stopWhenEmpty: true }, manager).run();

  expect(reservations).toHaveLength(1);
  expect(ran).toEqual(['taken over', 'met for the first time']);
  expect(told).toMatchObject([{ connectionName: 'memory', crashes: 1, silence: 30, job: { name: 'Note', fence: 2 } }]);
  expect(ranBefore).toEqual([0]);
  const lines = log.lines.filter(({ message }) => message.includes('is taken over'));
  expect(lines).toHaveLength(1);
  expect(lines[0]).toMatchObject({ level: 'warn', facts: { job: 'Note', crashes: 1, fence: 2, silence: 30 } });
});

it('a crash is reported once, however often the job runs afterwards', async () => {
  const { manager, clock } = application;
  const driver = manager.driver();
  await driver.push('default', [{ payload: payloadOf(new Again('again')).toString() }]);
  await reserveFrom(driver, { queues: ['default'], limit: 1, lease: 30 });
  await clock.advance('31s');
  const told: RecoveredEvent[] = [];
  manager.hooks.on('recovered', (event) => void told.push(event));

  await new Worker({ stopWhenEmpty: true, tries: 2 }, manager).run();

  expect(ran).toEqual(['again', 'again']);
  expect(told).toHaveLength(1);
});
