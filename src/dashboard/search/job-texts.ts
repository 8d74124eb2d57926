/** What is searched of a job's payload: what its dispatcher gave, and not what the envelope says of it. */
import { isRecord } from '../../payload/kinds';
import { SHOWN_ELSEWHERE } from '../job/data-part';
import { dataText } from '../parts/excerpt';

/** @param payload as it is shown: a masked value must not be found, or whoever guesses at it would be told */
export function jobTexts(payload: unknown): readonly string[] {
  if (!isRecord(payload)) return [dataText(payload)];
  const given = Object.entries(payload).filter(([field]) => !SHOWN_ELSEWHERE.has(field));
  return [
    ...('data' in payload ? [dataText(payload)] : []),
    ...given.map(([field, value]) => `${field}: ${typeof value === 'string' ? value : JSON.stringify(value)}`),
  ];
}
