import { MemoryConnection } from '../../src/connections/memory/connection';
import { MemoryStore } from '../../src/connections/memory/store';
import { CommandKit, itemsIn } from './kit/command-kit';

let kit: CommandKit;

beforeEach(() => {
  kit = new CommandKit();
});

afterEach(() => kit.close());

describe('failed jobs of several connections', () => {
  it('are listed with their connections', async () => {
    await kit.fail('id-1', { name: 'SendMail', connection: 'memory', queue: 'mail' });
    await kit.fail('id-2', { name: 'SendMail', connection: 'tubes', queue: 'mail' });

    const [headings, ...rows] = (await kit.run('failed')).stdout.split('\n');

    expect(headings).toMatch(/^id +job +connection +queue +attempts/);
    expect(rows).toEqual(
      expect.arrayContaining([
        expect.stringMatching(/^id-1 +SendMail +memory +mail/),
        expect.stringMatching(/^id-2 +SendMail +tubes +mail/),
      ]),
    );
  });
});

describe('failed jobs of several connections, if one of them is away,', () => {
  beforeEach(async () => {
    kit.project.write({
      'onqueue.config.js': `module.exports = { default: 'stored',
        connections: { stored: { driver: 'database', url: 'sqlite:./x' }, gone: { driver: 'redis' } } };`,
    });
    const stored = () => Object.assign(kit.store.duplicate(), { name: 'stored' });
    const gone = () => {
      const connection = new MemoryConnection('gone', new MemoryStore('gone', kit.clock));
      for (const method of ['list', 'find', 'forget', 'flush'] as const) {
        jest.spyOn(connection.failed, method).mockRejectedValue(new Error('no answer'));
      }
      return connection;
    };
    kit.connectors = { database: stored, redis: gone };
    for (const id of ['1', '2', '3']) await kit.fail(id, { connection: 'stored' });
  });

  it('are listed from the others with a remark and exit code 1', async () => {
    const { stdout, stderr, code } = await kit.run('failed', '--json');

    expect(itemsIn(stdout)).toHaveLength(3);
    expect(stderr).toBe('The failed jobs of gone are missing here: no answer\n');
    expect(code).toBe(1);
  });

  it('are retried and forgotten by id, even after an id that is not found', async () => {
    const retried = await kit.run('retry', 'x', '1', '--json');
    const forgotten = await kit.run('forget', 'x', '2', '--json');

    expect([retried.stdout, forgotten.stdout]).toEqual([
      '{"retried":1,"unknown":["x"]}\n',
      '{"forgotten":1,"unknown":["x"]}\n',
    ]);
    expect(retried.stderr).toContain("No failed job 'x' was found, but those of connection 'gone'");
    expect([retried.code, forgotten.code]).toEqual([1, 1]);
    expect(await kit.store.failed.count()).toBe(1);
  });

  it('are flushed from the others, with a remark', async () => {
    const { stderr, code } = await kit.run('flush');

    expect(stderr).toContain("3 failed jobs were removed, but those of connection 'gone'");
    expect(code).toBe(1);
  });
});
