import { eventually } from '../support/eventually';
import { requireBuild } from '../support/project';
import { Block, Freeze, Stall, Take } from './kit/programs/jobs';
import { meantToPass } from '../support/meant-to-pass';
import { SqsStage } from './kit/sqs-stage';

/**
 * Seconds. The lease of workers whose leases should end or be renewed. The thread that renews must first load the SDK, and
 * a job that reaches a worker when its lease is over is received again.
 */
const LEASE = meantToPass(8);

beforeAll(() => requireBuild());

/** A test on its own stage. They run beside each other, because they mostly wait. */
function onStage(play: (stage: SqsStage) => Promise<void>): () => Promise<void> {
  return async () => {
    const stage = await SqsStage.open();
    try {
      await play(stage);
    } finally {
      await stage.close();
    }
  };
}

const started = (stage: SqsStage, count: number): Promise<unknown> =>
  eventually(() => stage.ledger.count('started') >= count, { of: `${count} runs` });

const take = (count: number, milliseconds: number): Take[] =>
  Array.from({ length: count }, () => new Take(milliseconds));

it.concurrent(
  'jobs of a killed worker run elsewhere in their first try, and none is lost',
  onStage(async (stage) => {
    await stage.dispatch(take(40, 100));
    const killed = stage.hire({ concurrency: 10 }, { lease: LEASE });
    stage.disturbed.add(killed.pid);
    await started(stage, 15);
    await killed.kill();

    stage.hire({ concurrency: 10 });
    await stage.drained();
    await stage.dismiss();

    expect(await stage.account()).toMatchObject({ dispatched: 40, completed: 40, lost: 0, offences: [] });
  }),
);

it.concurrent(
  'jobs that take longer than their leases run once, even if they block their event loop',
  onStage(async (stage) => {
    await stage.dispatch([new Take(1.6 * LEASE * 1000), new Take(500), new Block(1.4 * LEASE * 1000)]);
    stage.hire({ concurrency: 3 }, { lease: LEASE });
    await started(stage, 3);
    stage.hire({ concurrency: 3 }, { lease: LEASE });

    await stage.drained();
    await stage.dismiss();

    expect(await stage.account()).toMatchObject({ completed: 3, again: 0, refused: 0, offences: [] });
  }),
);

it.concurrent(
  'a handler that blocks its process past its timeout is recorded as timed out, and its neighbour runs elsewhere when its lease ends',
  onStage(async (stage) => {
    await stage.dispatch([new Take(300), new Stall(60_000)]);
    const options = { concurrency: 2, grace: meantToPass('200ms') };
    const first = stage.hire(options, { endsProcess: true, lease: LEASE });
    stage.disturbed.add(first.pid);

    expect(await first.exited).toMatchObject({ code: 70 });
    stage.hire({ concurrency: 2 });
    await stage.drained();
    await stage.dismiss();

    expect(await stage.account({ firstTries: false })).toMatchObject({ completed: 2, lost: 0, offences: [] });
  }),
);

it.concurrent(
  'a worker that was frozen past its lease notices it, and its outcome is refused',
  onStage(async (stage) => {
    await stage.dispatch([new Take(1500)]);
    const frozen = stage.hire({}, { lease: LEASE });
    stage.disturbed.add(frozen.pid);
    await started(stage, 1);
    frozen.freeze();
    stage.hire();
    await started(stage, 2);

    frozen.thaw();
    await eventually(() => stage.ledger.count('lost') === 1, { of: 'the refusal' });
    await stage.drained();
    await stage.dismiss();

    expect(await stage.account()).toMatchObject({ completed: 1, refused: 1, offences: [] });
  }),
);

it.concurrent(
  'a failure in a worker that was frozen past its lease is not kept, because another worker has the job',
  onStage(async (stage) => {
    await stage.dispatch([new Freeze()]);
    const frozen = stage.hire({}, { lease: LEASE });
    stage.disturbed.add(frozen.pid);
    await eventually(() => frozen.isFrozen, { of: 'the freeze' });
    stage.hire();
    await eventually(() => stage.ledger.count('completed') === 1, { of: 'the second run' });

    frozen.thaw();
    await eventually(() => stage.ledger.count('lost') === 1, { of: 'the refusal' });
    await stage.dismiss();

    expect(await stage.manager.failed.list()).toEqual([]);
    expect(await stage.account()).toMatchObject({ completed: 1, failed: 0, refused: 1, offences: [] });
  }),
);

it.concurrent(
  'workers continue by themselves when SQS is back, and no job runs twice because of the outage',
  onStage(async (stage) => {
    await stage.dispatch(take(30, 50));
    stage.hire({ concurrency: 2 });
    await started(stage, 6);
    await stage.server.stop();
    await eventually(() => stage.ledger.count('said') > 0, { of: 'the word that SQS is away' });
    await stage.server.startAgain();

    await stage.drained();
    await stage.dismiss();

    const { completed, lost, offences } = await stage.account();
    expect({ completed, lost }).toEqual({ completed: 30, lost: 0 });
    expect(offences.filter((offence) => !offence.includes('without cause'))).toEqual([]);
  }),
);
