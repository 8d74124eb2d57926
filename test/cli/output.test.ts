import { Output } from '../../src/cli/output';
import { TestClock } from '../../src/testing/test-clock';

class Stream {
  text = '';
  constructor(
    readonly isTTY = false,
    readonly columns?: number,
  ) {}

  write(text: string): void {
    this.text += text;
  }
}

describe('the output', () => {
  it('lays JSON out on a terminal, and keeps it on one line elsewhere', () => {
    const terminal = new Stream(true);
    const pipe = new Stream();
    new Output(terminal, new Stream(), new TestClock()).json({ a: 1 });
    new Output(pipe, new Stream(), new TestClock()).json({ a: 1 });

    expect(terminal.text).toBe('{\n  "a": 1\n}\n');
    expect(pipe.text).toBe('{"a":1}\n');
  });

  it('writes JSON in which no character is a command to a terminal', () => {
    const pipe = new Stream();
    new Output(pipe, new Stream(), new TestClock()).json({ a: '\u001b[2J\u009b2J\u007f' });

    expect(pipe.text).toBe('{"a":"\\u001b[2J\\u009b2J\\u007f"}\n');
  });

  it('cuts tables to the terminal alone: a pipe gets every letter', () => {
    const row = [['an error that is longer than the terminal']];
    const terminal = new Stream(true, 20);
    const pipe = new Stream(false, 20);
    new Output(terminal, new Stream(), new TestClock()).table(['error'], row);
    new Output(pipe, new Stream(), new TestClock()).table(['error'], row);

    expect(terminal.text).toContain('…');
    expect(pipe.text).toContain('longer than the terminal');
  });

  it('counts down on a terminal what is left, and removes the line', async () => {
    const clock = new TestClock();
    const stderr = new Stream(true);
    let left = 1200;
    let finish: (value: string) => void = () => undefined;
    const work = new Promise<string>((resolve) => (finish = resolve));

    const counted = new Output(new Stream(), stderr, clock).counting(
      'Clearing',
      async () => (left -= 100),
      () => work,
    );
    await clock.advance('250ms');
    await clock.advance('250ms');
    finish('done');

    expect(await counted).toBe('done');
    expect(stderr.text).toBe('\r\u001B[KClearing: 1,100 left\r\u001B[KClearing: 1,000 left\r\u001B[K');
  });

  it('writes no counter where there is no terminal', async () => {
    const clock = new TestClock();
    const log = new Stream();
    let finish: () => void = () => undefined;
    const work = new Promise<void>((resolve) => (finish = resolve));

    const counted = new Output(new Stream(), log, clock).counting(
      'Clearing',
      async () => 1,
      () => work,
    );
    await clock.advance('1s');
    finish();
    await counted;

    expect(log.text).toBe('');
  });

  it('writes no counter for what is quick', async () => {
    const terminal = new Stream(true);

    await new Output(new Stream(), terminal, new TestClock()).counting(
      'Clearing',
      async () => 1,
      async () => undefined,
    );

    expect(terminal.text).toBe('');
  });

  it('passes on what went wrong with the work', async () => {
    const output = new Output(new Stream(), new Stream(true), new TestClock());

    await expect(
      output.counting(
        'Clearing',
        async () => 1,
        () => Promise.reject(new Error('refused')),
      ),
    ).rejects.toThrow('refused');
  });
});
