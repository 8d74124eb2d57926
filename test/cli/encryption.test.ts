/** Keys of encrypted jobs, and their data, on the command line. */
import { QueueManager } from '../../src/application/queue-manager';
import { systemClock } from '../../src/base/clock';
import { builtInConnectors } from '../../src/connections/built-in';
import { JobBus } from '../../src/dispatch/bus';
import { Job } from '../../src/job/job';
import { Worker } from '../../src/worker/worker';
import { RecordingLogger } from '../support/application';
import { CommandKit } from './kit/command-kit';

const [OLD, NEW] = [1, 2].map((byte) => Buffer.alloc(32, byte).toString('base64')) as [string, string];

@Job({ name: 'Sealed', encrypted: true })
class Sealed extends Job {
  constructor(readonly card: string) {
    super();
  }
  handle(): void {
    throw new Error('refused');
  }
}

@Job({ name: 'Partly', sensitive: ['phrase'] })
class Partly extends Job {
  constructor(
    readonly phrase: string,
    readonly password: string,
  ) {
    super();
  }
  handle(): void {
    throw new Error('refused');
  }
}

let kit: CommandKit;

/** @param keys those that the commands have */
async function given(keys: Readonly<Record<string, string>>, use: string): Promise<void> {
  kit = new CommandKit({
    'onqueue.config.js': `module.exports = ${JSON.stringify({ connections: { memory: { driver: 'memory' } }, encryption: { use, keys } })};`,
  });
}

function application(use: string): QueueManager {
  const environment = {
    connectors: { ...builtInConnectors, ...kit.connectors },
    clock: systemClock,
    logger: new RecordingLogger(),
  };
  const encryption = { use, keys: { old: OLD, new: NEW } };
  return new QueueManager(environment, { connections: { memory: { driver: 'memory' } }, encryption });
}

/** Two jobs wait, and one of the first kind has failed. */
async function dispatched(job: () => Sealed | Partly, use: string): Promise<string> {
  const manager = application(use);
  const bus = new JobBus(() => manager);
  const id = await bus.dispatch(job());
  await new Worker({ stopWhenEmpty: true }, manager).run();
  await bus.dispatch(job()).delay('1h');
  await bus
    .chain([new Sealed('x'), job()])
    .onQueue('other')
    .dispatch();
  await manager.close();
  return id;
}

afterEach(() => kit.close());

it('shows which key seals, which only opens, and which is needed and absent', async () => {
  await given({ new: NEW }, 'new');
  await dispatched(() => new Sealed('4111'), 'old');

  const listed = await kit.run('encryption');
  const checked = await kit.run('check');

  expect(listed.stdout).toMatch(/new +seals +0 +0\n *old +absent +2 +1/);
  expect(listed.stderr).toContain("3 jobs cannot run without the key 'old'. Add it to encryption.keys.");
  expect(listed.code).toBe(1);
  expect(checked.stdout).toMatch(/warning +encryption +2 jobs that wait and 1 job that failed need the key 'old'/);
});

it('shows a failed job with its secrets masked, and in the clear to who asks for it', async () => {
  await given({ old: OLD, new: NEW }, 'new');
  const id = await dispatched(() => new Partly('open sesame', 'hunter2'), 'new');
  const sealed = await dispatched(() => new Sealed('4111 1111'), 'old');

  for (const line of [
    ['failed', id],
    ['failed', '--json'],
    ['failed', id, '--json'],
    ['inspect', id],
    ['retry', 'all', '--dry-run', '--json'],
  ]) {
    const { stdout } = await kit.run(...line);
    expect(stdout).not.toMatch(/sesame|hunter2/);
  }
  expect((await kit.run('failed', id, '--reveal')).stdout).toMatch(/open sesame.*hunter2/);
  expect((await kit.run('failed', sealed, '--reveal')).stdout).toContain('"card":"4111 1111"');
  const { stdout, stderr } = await kit.run('inspect', sealed, '--reveal');
  expect(stdout).toContain('4111 1111');
  expect(stderr).toContain(`The data of Sealed ${sealed} were revealed`);
  expect((await kit.run('failed', '--reveal')).stderr).toContain('give --reveal together with the id of one job');
});
