/** What is typed comes back in errors, and what a store holds comes to the terminal: neither may do harm there. */
import { CommandKit, itemsIn } from './kit/command-kit';

let kit: CommandKit;

beforeEach(() => {
  kit = new CommandKit();
});

afterEach(() => kit.close());

/** Clears the screen, adds a line, turns the direction of writing, and separates lines as Unicode does. */
const HARM = 'a\u001b[2J\u009b2Jb\nc\u202ed\u2028e\u200ff';
const HARMFUL = /[^\P{Cc}\n]|[\p{Zl}\p{Zp}\p{Bidi_Control}]/u;

describe('a word of the command line', () => {
  it.each([
    [HARM],
    ['help', HARM],
    ['size', HARM],
    ['size', `--queue=${HARM}`],
    ['size', `--${HARM}`],
    ['work', `--tries=${HARM}`],
    ['work', `--log=${HARM}`],
    ['jobs', HARM],
    ['failed', HARM],
    ['retry', HARM],
    ['forget', HARM],
    ['inspect', HARM],
    ['cancel', HARM],
    ['promote', HARM],
    ['reschedule', HARM, '2h'],
    ['reschedule', '1', HARM],
    ['batch', HARM],
    ['batch:cancel', HARM],
    ['schedule:run', HARM],
    ['completion', HARM],
    ['size', `--config=${HARM}`],
    ['size', `--require=${HARM}`],
    ['pause', `--for=${HARM}`],
  ])('comes back in an error without harm to the terminal: %j', async (...line) => {
    const { stdout, stderr, code } = await kit.run(...line);

    expect(code).not.toBe(0);
    expect(stderr).toContain('c\\u202ed\\u2028e\\u200ff');
    expect(stdout + stderr).not.toMatch(HARMFUL);
    // It adds no line either.
    expect(stderr).not.toMatch(/^c/m);
  });

  it('comes back in a question without harm', async () => {
    kit.environment = { NODE_ENV: 'production' };
    kit.answer = 'no';

    await kit.run('flush', `--queue=${HARM}`);

    expect(kit.asked).toEqual([expect.not.stringMatching(HARMFUL)]);
  });
});

describe('a foreign entry', () => {
  beforeEach(async () => {
    const exception = `Error: ${HARM}\n    at ${HARM}`;
    await kit.fail('1', { name: HARM, exception, payload: Buffer.from(`not JSON ${HARM}`) });
  });

  it.each([[['failed', '1']], [['failed']], [['jobs', '--state=failed']], [['inspect', '1']], [['failed', '--json']]])(
    'is shown without harm to the terminal: %j',
    async (line) => {
      for (const columns of [undefined, 60, 300]) {
        kit.columns = columns;
        const { stdout } = await kit.run(...line);

        expect(columns === 60 || stdout.includes('\\u202e')).toBe(true);
        expect(stdout).not.toMatch(HARMFUL);
      }
    },
  );

  it('is the same for a program as it was kept', async () => {
    expect(itemsIn((await kit.run('failed', '--json')).stdout)).toMatchObject([{ id: '1', name: HARM }]);
  });
});

describe('a flag that would have no effect is refused', () => {
  it.each([
    ['clear', '--queue='],
    ['clear', '--queue=,'],
    ['clear', '--queue=a,,b'],
    ['clear', '--queue', ' '],
    ['clear', 'memory:'],
    ['clear', 'memory:,'],
    ['size', '--queue='],
    ['resume', '--queue='],
    ['pause', '--queue='],
    ['flush', '--queue='],
    ['failed', '--name='],
    ['forget', '--error='],
    ['retry', '--batch='],
    ['prune', '--older-than=1d', '--queue='],
    ['prune', '--batches='],
    ['cancel', '--reason=', 'A'],
    ['failed', '--connection='],
    ['size', '--config='],
    ['size', '--require='],
    ['monitor', ','],
    ['work', '--name='],
    ['listen', '--queue=a,'],
  ])('because it is empty: %j', async (...line) => {
    await kit.push('default', 'A');
    await kit.fail('1');

    const { stderr, code } = await kit.run(...line);

    expect(stderr).toMatch(/E_INVALID_(OPTION|DURATION)/);
    expect(code).toBe(2);
    expect(await kit.store.queues.counts('default')).toMatchObject({ ready: 1 });
    expect(await kit.store.failed.count()).toBe(1);
  });

  it.each([
    ['failed', '--queue=a', '--queue=b'],
    ['forget', '--queue=default', '--queue=b'],
    ['retry', '--error=x', '--error=y'],
    ['flush', '--queue', 'a', '--queue', 'default'],
    ['cancel', '--connection=memory', '--connection=memory', 'A'],
    ['work', '--tries=1', '--tries=2'],
    ['work', '--log=json', '--log=text'],
    ['prune', '--keep=1', '--keep=0'],
    ['size', '--config=a', '--config=b'],
  ])('because only its last value would count: %j', async (...line) => {
    await kit.fail('1');

    const { stderr, code } = await kit.run(...line);

    expect(stderr).toContain('The flag is there twice');
    expect(code).toBe(2);
    expect(await kit.store.failed.count()).toBe(1);
  });

  it('but several queues may be named one by one', async () => {
    const { stdout } = await kit.run('size', '--queue=a', '--queue=b,c', '--json');

    expect(itemsIn(stdout)).toMatchObject([{ queue: 'a' }, { queue: 'b' }, { queue: 'c' }]);
  });
});
