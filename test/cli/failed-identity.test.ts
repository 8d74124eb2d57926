import { MemoryFailedStore } from '../../src/connections/memory/kept';
import { CommandKit } from './kit/command-kit';

let kit: CommandKit;

beforeEach(async () => {
  kit = new CommandKit();
  await kit.fail('1', { queue: 'mail' });
});

afterEach(async () => {
  jest.restoreAllMocks();
  await kit.close();
});

it('forget, retry and failed name the queues of an id that failed on several, and accept one of them', async () => {
  const [kept] = await kit.store.failed.find('1');
  jest.spyOn(MemoryFailedStore.prototype, 'find').mockResolvedValue([kept!, { ...kept!, queue: 'other' }]);

  for (const command of ['forget', 'retry', 'failed']) {
    const { stderr, code } = await kit.run(command, '1');
    expect(stderr).toContain("on queue 'mail' of connection 'memory', and on queue 'other' of connection 'memory'");
    expect(code).not.toBe(0);
  }
  expect((await kit.run('forget', '1', '--queue=mail')).stdout).toBe('Forgot 1 failed job.\n');
});
