/** The commands that carry more than a number. */
import type { Seconds } from '../../base/clock';

const MOST_SECONDS = 2 ** 32 - 1;

export interface Put {
  readonly body: Buffer;
  readonly priority: number;
  readonly delay: Seconds;
  readonly lease: Seconds;
}

export function putCommand({ body, priority, delay, lease }: Put): Buffer {
  const line = `put ${priority} ${wholeSeconds(delay)} ${Math.max(wholeSeconds(lease), 1)} ${body.length}\r\n`;
  return Buffer.concat([Buffer.from(line), body, Buffer.from('\r\n')]);
}

/** The protocol knows no part of a second: up, so that nothing comes early. */
export const wholeSeconds = (seconds: Seconds): Seconds => Math.min(Math.max(Math.ceil(seconds), 0), MOST_SECONDS);
