import { Output, type Cell } from '../../src/cli/output';

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
  const output = new Output(stream, new Stream());
  output.isJson = true;
  return output;
}

describe('the output of a command', () => {
  it('is either one JSON document, or lines and tables', () => {
    const json = new Stream();
    const text = new Stream();
    for (const output of [jsonTo(json), new Output(text, new Stream())]) {
      output.line('a');
      output.table(['b'], [['c']]);
      output.result(['d']);
    }

    expect([json.text, text.text]).toEqual(['{"items":["d"]}\n', 'a\nb\nc\n']);
  });

  it('formats JSON on a terminal, and keeps it on one line elsewhere', () => {
    const terminal = new Stream(true);
    const pipe = new Stream();
    jsonTo(terminal).result({ a: 1 });
    jsonTo(pipe).result({ a: 1 });

    expect(terminal.text).toBe('{\n  "a": 1\n}\n');
    expect(pipe.text).toBe('{"a":1}\n');
  });

  it('escapes control characters in JSON', () => {
    const pipe = new Stream();
    jsonTo(pipe).result({ a: '\u001b[2J\u009b2J\u007f' });

    expect(pipe.text).toBe('{"a":"\\u001b[2J\\u009b2J\\u007f"}\n');
  });

  it('cuts tables only on a terminal, so that a pipe gets everything', () => {
    const row = [['an error that is longer than the terminal']];
    const terminal = new Stream(true, 20);
    const pipe = new Stream(false, 20);
    new Output(terminal, new Stream()).table(['error'], row);
    new Output(pipe, new Stream()).table(['error'], row);

    expect(terminal.text).toContain('…');
    expect(pipe.text).toContain('longer than the terminal');
  });

  it('colours cells on a terminal by what they mean, but not in a pipe, nor where the user wants none', () => {
    const row = [['mail', { text: 3, tone: 'bad' }] as const];
    const shown = (stream: Stream): string => {
      new Output(stream, new Stream()).table(['queue', 'failed'], row);
      return stream.text;
    };
    jest.replaceProperty(process, 'env', { ...process.env, NO_COLOR: '' });
    expect(shown(new Stream(true))).toBe('queue  failed\nmail        \u001b[31m3\u001b[39m\n');
    expect(shown(new Stream())).toBe('queue  failed\nmail        3\n');
    jest.replaceProperty(process, 'env', { ...process.env, NO_COLOR: '1' });
    expect(shown(new Stream(true))).toBe('queue  failed\nmail        3\n');
    jest.restoreAllMocks();
  });

  it('gives a line of its own only to what is too long for its row, where nothing may be cut', () => {
    const terminal = new Stream(true, 40);
    new Output(terminal, new Stream()).uncut(
      ['level', 'what', 'found'],
      [
        ['ok', 'node', '20.19.0'],
        ['error', 'redis', 'The server does not answer: is it running?'],
      ],
    );
    expect(terminal.text).toBe(
      'level  what   found\nok     node   20.19.0\nerror  redis\n  The server does not answer: is it running?\n',
    );
  });

  describe('for a list whose last cell matters most', () => {
    const error = 'Error: connect ECONNREFUSED 127.0.0.1:25, which the mail server of the department answers';
    const row = ['0193a6c1-0000-7000-8000-000000000000', 'SendMail', 3, error];
    const shown = (columns: number, cells: readonly Cell[] = row): string => {
      const terminal = new Stream(true, columns);
      new Output(terminal, new Stream()).list(['id', 'job', 'attempts', 'error'], [cells]);
      return terminal.text;
    };

    it.each([60, 80])('has that cell on a separate line in %d columns', (columns) => {
      expect(shown(columns)).toBe(`${row[0]}\n  SendMail, attempts 3\n  ${error}\n`);
    });

    it('leaves out empty cells on separate lines', () => {
      expect(shown(60, [row[0], undefined, 3, error])).toBe(`${row[0]}\n  attempts 3\n  ${error}\n`);
    });

    it('is a table that is cut at the width if that leaves enough of it, and the texts before it give way', () => {
      const named = [row[0]!, 'SendMailToAllCustomersOfTheNorth', 3, error];
      expect(shown(100, named)).toBe(
        `id                                    job                   attempts  error\n${row[0]}  SendMailToAllCustom…         3  Error: connect ECONNREFUSED 1…\n`,
      );
    });

    it('keeps the label of a number that has a colour', () => {
      expect(shown(60, [row[0], 'SendMail', { text: 3, tone: 'bad' }, error])).toContain('SendMail, attempts 3');
    });

    it('is a table in which nothing is cut if the user wants that', () => {
      const terminal = new Stream(true, 60);
      const output = new Output(terminal, new Stream());
      output.isWide = true;
      output.list(['id', 'job', 'attempts', 'error'], [row]);
      expect(terminal.text.split('\n')).toHaveLength(3);
      expect(terminal.text).toContain(`SendMail         3  ${error}\n`);
    });

    it('is a table if there is room', () => {
      expect(shown(140)).toMatch(/^id +job +attempts +error\n0193a6c1-\S+ +SendMail +3 +Error: connect.*\n$/);
    });
  });

  it('says on a terminal how long ago something was or is to be, and elsewhere when', () => {
    const moment = new Date(Date.UTC(2026, 10, 1, 12));
    const told = (output: Output, late: number) => [
      output.past(moment, moment.getTime() + late),
      output.ahead(moment, moment.getTime() + late),
    ];
    const terminal = new Output(new Stream(true, 80), new Stream());
    expect(told(terminal, 90_000)).toEqual(['1m 30s ago', '1m 30s ago']);
    // A store's clock may be ahead of ours.
    expect(told(terminal, -90_000)).toEqual(['0s ago', 'in 1m 30s']);
    expect(told(new Output(new Stream(), new Stream()), -1)).toEqual(Array(2).fill('2026-11-01 12:00:00 UTC'));
    terminal.isWide = true;
    expect(told(terminal, 1)).toEqual(Array(2).fill('2026-11-01 12:00:00 UTC'));
  });

  it('cuts a row of a table without an end at the width', () => {
    const terminal = new Stream(true, 44);
    new Output(terminal, new Stream()).row(['12:00:00', 'failed', 'SendMail', '', 'rather a long error'], [8, 10]);
    expect(terminal.text).toBe('12:00:00  failed      SendMail  rather a lo…\n');
  });

  it.each([
    ['notes something', (output: Output) => output.note('The store is slow.')],
    ['logs something', (output: Output) => output.log.write('The store is slow.\n')],
    ['prints something', (output: Output) => output.line('The store is slow.')],
  ])('removes a progress line before it %s', (_, print) => {
    const terminal = new Stream(true);
    const output = new Output(terminal, terminal);
    output.renew('1% of 100');
    print(output);

    expect(terminal.text).toBe('\r\u001B[K1% of 100\r\u001B[KThe store is slow.\n');
  });
});
