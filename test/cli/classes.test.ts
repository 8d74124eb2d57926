import { CommandKit, itemsIn } from './kit/command-kit';

describe('classes', () => {
  let kit: CommandKit;

  beforeEach(() => {
    kit = new CommandKit();
  });

  afterEach(() => kit.close());

  // First, while no jobs are registered in this process.
  it('says how to register jobs if there are none', async () => {
    const { stdout, stderr, code } = await kit.run('classes');

    expect(stderr).toContain("--require 'dist/jobs/**/*.js'");
    expect(stdout).toBe('');
    expect(code).toBe(0);
  });

  it('lists the jobs in the files of a pattern, with the options a worker would use', async () => {
    kit.project.write({
      'jobs/mail.js': `const { Job } = require('onqueue');
        Job({ queue: 'mail', tries: 5, timeout: '2m' })(class SendMail extends Job { handle() {} });`,
      'jobs/deep/tidy.js': `const { Job } = require('onqueue');
        Job({ tries: 0, timeout: 0 })(class TidyUp extends Job { handle() {} });`,
    });

    const { stdout, code } = await kit.run('classes', '--require=jobs/**/*.js');

    const lines = stdout.trimEnd().split('\n');
    expect(lines[0]).toMatch(/^job +queue +tries +timeout +file$/);
    expect(lines[1]).toMatch(/^SendMail +mail +5 +2m +.*mail\.js$/);
    expect(lines[2]).toMatch(/^TidyUp +default +no limit +none +.*tidy\.js$/);
    expect(code).toBe(0);
  });

  it('lists them as JSON, with handlers and aliases', async () => {
    kit.project.write({
      'handled.js': `const { Job, Handles } = require('onqueue');
        const Bill = Job({ aliases: ['Invoice'], connection: 'elsewhere' })(class Bill {});
        Handles(Bill)(class BillHandler { handle(job) {} });`,
    });

    const { stdout } = await kit.run('classes', '--require', './handled.js', '--json');

    const listed = itemsIn(stdout) as { name: string }[];
    expect(listed.find(({ name }) => name === 'Bill')).toEqual({
      name: 'Bill',
      aliases: ['Invoice'],
      connection: 'elsewhere',
      queue: '?',
      tries: 1,
      timeout: 60,
      handler: 'BillHandler',
      file: expect.stringContaining('handled.js') as string,
    });
  });

  it('shows where a required file failed', async () => {
    kit.project.write({ 'broken.js': "function mail() { throw new Error('no address'); }\nmail();" });

    const { stderr, code } = await kit.run('classes', '--require=broken.js');

    expect(stderr).toContain(`broken.js could not be loaded: no address (E_REQUIRED_FILE)`);
    expect(stderr).toMatch(/^\s+at mail .*broken\.js:1/m);
    expect(code).toBe(1);
  });

  it('says what to do about a required file with an await at its top level', async () => {
    // As Node.js throws for it; Jest cannot load such modules.
    const thrown = "Object.assign(new Error('use import()'), { code: 'ERR_REQUIRE_ASYNC_MODULE' })";
    kit.project.write({ 'waits.js': `throw ${thrown};` });
    const { code, stderr } = await kit.run('classes', '--require=waits.js');
    expect([code, stderr]).toEqual([1, expect.stringContaining('uses await at its top level')]);
  });

  it('loads packages by name, as Node.js does', async () => {
    kit.project.write({
      'node_modules/my-jobs/index.js': "require('onqueue').Job()(class FromPackage { handle() {} });",
    });

    expect((await kit.run('classes', '--require=my-jobs')).stdout).toContain('FromPackage');
  });
});
