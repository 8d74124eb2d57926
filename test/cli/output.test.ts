import type { Cell } from '../../src/cli/table';
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

function jsonTo(stream: Stream): Output {
  const output = new Output(stream, new Stream(), new TestClock());
  output.isJson = true;
  return output;
}

describe('the output', () => {
  it('is either one JSON document, or lines and tables', () => {
    const json = new Stream();
    const text = new Stream();
    for (const output of [jsonTo(json), new Output(text, new Stream(), new TestClock())]) {
      output.line('a');
      output.table(['b'], [['c']]);
      output.result(['d']);
    }

    expect([json.text, text.text]).toEqual(['["d"]\n', 'a\nb\nc\n']);
  });

  it('lays JSON out on a terminal, and keeps it on one line elsewhere', () => {
    const terminal = new Stream(true);
    const pipe = new Stream();
    jsonTo(terminal).result({ a: 1 });
    jsonTo(pipe).result({ a: 1 });

    expect(terminal.text).toBe('{\n  "a": 1\n}\n');
    expect(pipe.text).toBe('{"a":1}\n');
  });

  it('writes JSON in which no character is a command to a terminal', () => {
    const pipe = new Stream();
    jsonTo(pipe).result({ a: '\u001b[2J\u009b2J\u007f' });

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

  describe('of a list that is read for its last cell', () => {
    const error = 'Error: connect ECONNREFUSED 127.0.0.1:25, which the mail server of the department answers';
    const row = ['0193a6c1-0000-7000-8000-000000000000', 'SendMail', 3, error];
    const shown = (columns: number, cells: readonly Cell[] = row): string => {
      const terminal = new Stream(true, columns);
      new Output(terminal, new Stream(), new TestClock()).list(['id', 'job', 'attempts', 'error'], [cells]);
      return terminal.text;
    };

    it.each([60, 80, 100])('has all of it on a line of its own in %d columns', (columns) => {
      expect(shown(columns)).toBe(`${row[0]}\n  SendMail, attempts 3\n  ${error}\n`);
    });

    it('leaves out on lines of their own what has nothing to say', () => {
      expect(shown(60, [row[0], undefined, 3, error])).toBe(`${row[0]}\n  attempts 3\n  ${error}\n`);
    });

    it('is a table where there is room for it', () => {
      expect(shown(140)).toMatch(/^id +job +attempts +error\n0193a6c1-\S+ +SendMail +3 +Error: connect.*\n$/);
    });
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
