/** The texts of a job's payload that are searched: what its dispatcher gave, not the rest of the envelope. */
import { isRecord } from '../../payload/kinds';
import { SHOWN_ELSEWHERE } from '../job/data-part';
import { dataText } from '../parts/excerpt';

/** @param payload with its secrets masked: a guess at a masked value must not be confirmed */
export function jobTexts(payload: unknown): readonly string[] {
  if (!isRecord(payload)) return [dataText(payload)];
  const given = Object.entries(payload).filter(([field]) => !SHOWN_ELSEWHERE.has(field));
  return [
    ...('data' in payload ? [dataText(payload)] : []),
    ...given.map(([field, value]) => `${field}: ${typeof value === 'string' ? value : JSON.stringify(value)}`),
  ];
}
