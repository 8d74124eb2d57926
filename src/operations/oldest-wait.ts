/** How long the oldest job that could run has waited. */
import type { Milliseconds, Seconds } from '../base/clock';
import type { Connection, Counts } from '../connections/contract';
import { fenceIn, idAtEnd } from '../payload/counters';
import { fieldsIn } from '../payload/kinds';
import { READY_AT, readyAtOf } from '../payload/ready-at';

/** Several, because the first jobs may have run before, and those do not say since when they are ready again. */
const LOOKED_AT = 10;

/**
 * Delayed jobs that are due count too: without a worker, nobody makes them ready. Undefined if there is none, or none of the first
 * ones says since when.
 */
export async function oldestWait(
  connection: Connection,
  queue: string,
  { ready, delayed }: Counts,
  now: Milliseconds,
): Promise<Seconds | undefined> {
  if (!connection.capabilities.peek) return undefined;
  const first = ready === 0 ? [] : await connection.peek(queue, 'ready', LOOKED_AT);
  const [next] = delayed === 0 ? [] : await connection.peek(queue, 'delayed', 1);
  const due = next?.at !== undefined && next.at <= now ? next.at : undefined;
  const moments = [due, ...first.map(({ payload }) => readyAtIn(payload))].filter((moment) => moment !== undefined);
  return moments.length === 0 ? undefined : Math.max(0, now - Math.min(...moments)) / 1000;
}

function readyAtIn(payload: Buffer): Milliseconds | undefined {
  const id = fenceIn(payload) > 0 ? undefined : idAtEnd(payload);
  if (id === undefined) return undefined;
  // Nearly no payload has this field, and payloads may be long.
  return readyAtOf(id, payload.includes(`"${READY_AT}":`) ? fieldsIn(payload.toString())?.[READY_AT] : undefined);
}
