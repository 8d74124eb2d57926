/** The variables of `.env`: which file is read, when, and by whom. */
import { command } from './kit/child-command';
import { CommandKit } from './kit/command-kit';
import { Project } from './kit/project';

describe('the file .env', () => {
  let kit: CommandKit;

  beforeEach(() => {
    kit = new CommandKit({
      '.env': '\uFEFFNODE_ENV=production\nREDIS_URL="redis://from-file"\n',
      'other.env': 'NODE_ENV=test\n',
    });
  });
  afterEach(() => kit.close());

  it('is read before the command looks at the environment', async () => {
    const { stderr, code } = await kit.run('clear');

    expect(stderr).toContain('NODE_ENV is production');
    expect(code).toBe(2);
    expect(kit.environment).toEqual({ NODE_ENV: 'production', REDIS_URL: 'redis://from-file' });
  });

  it('does not replace variables that are set, even to nothing', async () => {
    kit.environment = { NODE_ENV: 'development', REDIS_URL: '' };

    expect((await kit.run('clear')).code).toBe(0);
    expect(kit.environment).toEqual({ NODE_ENV: 'development', REDIS_URL: '' });
  });

  it.each([
    [['--env-file=other.env'], { NODE_ENV: 'test' }],
    [['--no-env-file'], {}],
  ])('is left alone with %p', async (flags, environment) => {
    expect((await kit.run('size', ...flags)).code).toBe(0);
    expect(kit.environment).toEqual(environment);
  });

  it('may be missing, unless the command line names it', async () => {
    expect((await kit.run('size', '--env-file=none.env')).stderr).toMatch(
      /^--env-file: nothing matches 'none\.env' in .*\. Name a file .* \(E_NOTHING_MATCHED\)\nSee onqueue help size\.\n$/,
    );
    expect((await kit.run('size', '--env-file=none.env')).code).toBe(2);
    kit.project.write({ 'inner/package.json': '{}', 'inner/.env/python.cfg': '' });
    const inner = await kit.run('size', '--env-file=inner/.env');
    expect(inner.stderr).toContain('It cannot be read: EISDIR');
    expect(inner.code).toBe(2);
  });
});

it.each([['work', '--stop-when-empty'], ['work', '--stop-when-empty', '--no-supervisor'], ['listen']])(
  'the processes of onqueue %s %s have the variables of .env',
  async (...line) => {
    const project = new Project({
      '.env': 'TEST_WORD=from-file\n',
      'onqueue.config.js': `require('./jobs');
      module.exports = { connections: { database: { driver: 'database', url: 'sqlite:./queue.sqlite' } } };`,
      'jobs.js': `const { Job } = require('onqueue');
      Job()(class Say extends Job { handle() { console.log('the word is ' + process.env.TEST_WORD); } });`,
    });
    await project.push('Say');
    const child = command(project.folder, line);
    try {
      await child.prints('the word is from-file');
      expect(child.stdout).toContain('the word is from-file\n');
    } finally {
      child.kill('SIGTERM');
      await child.ended;
      project.remove();
    }
  },
);
