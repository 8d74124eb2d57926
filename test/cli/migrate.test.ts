import { builtInConnectors } from '../../src/connections/built-in';
import { CommandKit } from './kit/command-kit';

const configured = (connections: object): Record<string, string> => ({
  'onqueue.config.js': `module.exports = ${JSON.stringify({ default: Object.keys(connections)[0], connections })};`,
});

const sqlite = { driver: 'database', url: 'sqlite:./queue.sqlite' };

let kit: CommandKit;

beforeEach(() => {
  kit = new CommandKit(configured({ stored: sqlite, memory: { driver: 'memory' } }));
  kit.connectors = builtInConnectors;
});

afterEach(() => kit.close());

describe('onqueue migrate', () => {
  it('creates the tables of all connections that have tables, and says so', async () => {
    expect(await kit.run('migrate')).toEqual({
      code: 0,
      stdout: 'stored: The tables were created (version 9).\n',
      stderr: '',
    });
  });

  it('says that they are up to date if run again', async () => {
    await kit.run('migrate');
    expect((await kit.run('migrate')).stdout).toBe('stored: The tables are up to date (version 9).\n');
    expect((await kit.run('migrate', '--json')).stdout).toBe('{"items":[{"connection":"stored","from":9,"to":9}]}\n');
  });

  it('prints the statements and runs none with --print', async () => {
    const { stdout } = await kit.run('migrate', '--print');
    expect(stdout).toMatch(/^-- stored\nCREATE TABLE jobs \(\n {2}id INTEGER/);
    expect((await kit.run('migrate')).stdout).toContain('were created');
  });

  it('creates the tables of other connections if one is away, names it, and ends with 1', async () => {
    const gone = { driver: 'database', url: 'sqlite:./no/such/folder.sqlite' };
    const other = new CommandKit(configured({ gone, stored: sqlite }));
    other.connectors = builtInConnectors;

    const { code, stdout, stderr } = await other.run('migrate');

    expect(stdout).toBe('stored: The tables were created (version 9).\n');
    expect(stderr).toMatch(/^gone: .*E_DATABASE_FILE/);
    expect(code).toBe(1);
    expect((await other.run('migrate', '--connection=gone')).stderr).toContain('E_DATABASE_FILE');
    await other.close();
  });

  it('says if there are no tables to create', async () => {
    expect(await kit.run('migrate', '--connection=memory')).toMatchObject({
      code: 0,
      stdout: '',
      stderr: 'memory (memory) has no tables.\n',
    });
    const other = new CommandKit();
    expect((await other.run('migrate')).stderr).toBe('No connection has tables.\n');
    await other.close();
  });
});
