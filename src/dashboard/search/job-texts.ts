/** What is searched of a job's payload: what its dispatcher gave, and not the names of the envelope's own fields, which each has. */
import { isRecord } from '../../payload/kinds';
import { SHOWN_ELSEWHERE } from '../job/data-part';
import { dataText } from '../parts/excerpt';

/** Its class and its id, which are searched by themselves; in other words they stand here again. */
const ITSELF: ReadonlySet<string> = new Set(['job', 'displayName', 'uuid', 'id']);

/** @param payload as it is shown: a masked value must not be found, or whoever guesses at it would be told */
export function jobTexts(payload: unknown): readonly string[] {
  if (!isRecord(payload)) return [dataText(payload)];
  const others = Object.entries(payload).filter(([field, value]) => field !== 'data' && isTold(field, value));
  return [dataText(payload), ...others.map(([field, value]) => textOf(field, value))];
}

/** Numbers and switches of the envelope stand in each payload. */
function isTold(field: string, value: unknown): boolean {
  if (ITSELF.has(field)) return false;
  return !SHOWN_ELSEWHERE.has(field) || typeof value === 'string' || (typeof value === 'object' && value !== null);
}

function textOf(field: string, value: unknown): string {
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  return SHOWN_ELSEWHERE.has(field) ? text : `${field}: ${text}`;
}
