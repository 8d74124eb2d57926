/** What `onqueue check` tells of a database server. */
import { OnqueueError } from '../../../base/onqueue-error';
import type { Diagnosis } from '../../contract';
import type { Dialect } from './dialect';
import type { ServerCaller } from './server-caller';

/** Milliseconds; every job takes at least one such round trip. */
const SLOW = 20;

export async function diagnoseServer({ schema }: Dialect, caller: ServerCaller): Promise<readonly Diagnosis[]> {
  const { clock } = caller.settings;
  try {
    const look = () => caller.run({ consequence: 'it was not examined' }, (session) => schema.look(session));
    const { server, needed, version, flaw } = await look();
    const sentAt = clock.monotonic();
    await look();
    const latency = Math.round((clock.monotonic() - sentAt) * 10) / 10;
    return [
      needed === undefined
        ? { level: 'ok', subject: 'version', message: server }
        : {
            level: 'error',
            subject: 'version',
            message: `${server} is too old: ${needed} or newer is needed.`,
          },
      tables(version, schema.version, flaw),
      {
        level: latency > SLOW ? 'warning' : 'ok',
        subject: 'latency',
        message: `${latency} ms for a round trip${latency > SLOW ? '; each job takes at least one. Bring the worker nearer to the server.' : ''}`,
      },
    ];
  } catch (error) {
    if (!(error instanceof OnqueueError)) throw error;
    return [{ level: 'error', subject: 'database', message: error.message }];
  }
}

function tables(found: number, known: number, flaw: string | undefined): Diagnosis {
  const subject = 'tables';
  if (found === known && flaw !== undefined) {
    return { level: 'error', subject, message: `version ${found}, but ${flaw}. Run: onqueue migrate` };
  }
  if (found === known) return { level: 'ok', subject, message: `version ${found}` };
  if (found > known) {
    return {
      level: 'error',
      subject,
      message: `version ${found}, and this Onqueue knows ${known}. Update onqueue here as well.`,
    };
  }
  const message = found === 0 ? 'not there' : `version ${found}, and ${known} is needed`;
  return { level: 'error', subject, message: `${message}. Run: onqueue migrate` };
}
