/** Sends a request exactly as written, because `fetch` would normalise its target, headers and body. */
import { connect } from 'node:net';

export interface RawAnswer {
  readonly status: number;
  /** By lower-case name. */
  readonly headers: ReadonlyMap<string, string>;
  readonly body: string;
}

/** @param head the first line and the headers; `Host` and `Connection: close` are added if missing */
export async function raw(port: number, head: string, body = ''): Promise<RawAnswer> {
  const more = [['host', `127.0.0.1:${port}`] as const, ['connection', 'close'] as const]
    .filter(([name]) => !head.toLowerCase().includes(`\n${name}:`))
    .map(([name, value]) => `${name}: ${value}\r\n`);
  const lines = `${head.trim().replaceAll(/\r?\n/g, '\r\n')}\r\n${more.join('')}\r\n`;
  return answerOf(await sent(port, Buffer.from(`${lines}${body}`, 'latin1')));
}

function sent(port: number, bytes: Buffer): Promise<string> {
  return new Promise((resolve) => {
    let text = '';
    const socket = connect(port, '127.0.0.1', () => socket.write(bytes));
    socket.setEncoding('latin1').on('data', (part: string) => (text += part));
    // The connection is reset after the answer if part of a large request was not read.
    socket.on('error', () => undefined).on('close', () => resolve(text));
  });
}

function answerOf(text: string): RawAnswer {
  const [head = '', ...body] = text.split('\r\n\r\n');
  const [first = '', ...lines] = head.split('\r\n');
  const headers = lines.map((line) => {
    const [name = '', ...value] = line.split(': ');
    return [name.toLowerCase(), value.join(': ')] as const;
  });
  return { status: Number(first.split(' ')[1] ?? 0), headers: new Map(headers), body: body.join('\r\n\r\n') };
}
