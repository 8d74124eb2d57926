/** `recount` on a SQLite file from which another program has deleted rows. */
import { join } from 'node:path';
import { builtInConnectors } from '../../src/connections/built-in';
import { systemClock } from '../../src/base/clock';
import { connectDatabase } from '../../src/connections/sql/opening';
import { begin } from '../connections/sql/server/batches';
import { silent } from '../connections/sql/open-database';
import { CommandKit } from './kit/command-kit';

const CONFIG = `module.exports = {
  default: 'files',
  connections: {
    files: { driver: 'database', url: 'sqlite:./jobs.sqlite' },
    memory: { driver: 'memory' },
    nowhere: { driver: 'null' },
    either: { driver: 'failover', connections: ['files', 'memory'] },
  },
};`;

let kit: CommandKit;

beforeEach(() => {
  kit = new CommandKit({ 'onqueue.config.js': CONFIG });
  kit.connectors = { ...builtInConnectors, ...kit.connectors };
});
afterEach(() => kit.close());

const MISCOUNTED = 'files: the batch batch counts 2 jobs as pending, but 1 exists\n';

/** A batch of two jobs, one of whose rows is missing. */
async function loseRow(): Promise<void> {
  const file = join(kit.project.folder, 'jobs.sqlite');
  const connection = connectDatabase(
    { driver: 'database', url: `sqlite:${file}` },
    { name: 'files', clock: systemClock, logger: silent, deadline: 60 },
  );
  await begin(connection, ['a', 'b']);
  await connection.close();
  const Libsql = require('libsql') as new (file: string) => { exec(text: string): void; close(): void };
  const handle = new Libsql(file);
  handle.exec("DELETE FROM jobs WHERE uuid = 'a'");
  handle.close();
}

describe('recount', () => {
  it('reports what is wrong, repairs it, and then finds nothing more', async () => {
    await loseRow();
    expect(await kit.run('recount')).toEqual({
      code: 0,
      stdout: `${MISCOUNTED}Repaired: 1 batch corrected.\n`,
      stderr: '',
    });
    expect(await kit.run('recount')).toEqual({ code: 0, stdout: 'Nothing is wrong.\n', stderr: '' });
  });

  it('only reports with --dry-run', async () => {
    await loseRow();
    for (let time = 0; time < 2; time += 1) {
      expect((await kit.run('recount', '--dry-run')).stdout).toBe(
        `${MISCOUNTED}Without --dry-run: 1 batch corrected.\n`,
      );
    }
  });

  it('prints one JSON document', async () => {
    await loseRow();
    const { stdout } = await kit.run('recount', '--json');
    expect(JSON.parse(stdout)).toEqual({
      repaired: true,
      findings: [{ connection: 'files', kind: 'miscounted', batch: 'batch', pending: 2, found: 1 }],
    });
  });

  it('checks the first connection of a failover', async () => {
    await loseRow();
    expect((await kit.run('recount', '--connection=either')).stdout).toContain(MISCOUNTED);
  });

  it('names the driver if it cannot recount', async () => {
    const stderr = 'memory: the driver memory cannot recount.\n';
    expect(await kit.run('recount', '--connection=memory')).toEqual({ code: 1, stdout: '', stderr });
  });

  it('refuses a connection that keeps no batches', async () => {
    const { stderr, code } = await kit.run('recount', '--connection=nowhere');
    expect(stderr).toContain("The connection 'nowhere' (null) keeps no batches");
    expect(code).toBe(1);
  });
});
