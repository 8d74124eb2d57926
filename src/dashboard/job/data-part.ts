/** The data of a job in a readable form, the other fields of its payload, and the raw payload. */
import {
  BATCH_FIELD,
  CHAIN_FIELDS,
  HANDLER,
  HANDLER_WITH_FOLLOWERS,
  OCCURRENCE_FIELD,
  TIES,
  CHOSEN_FIELDS,
} from '../../payload/payload-text';
import { noCounters, RETRY_MARK } from '../../payload/counters';
import { isRecord } from '../../payload/values';
import { READY_AT } from '../../payload/uuid';
import type { FoundJob } from '../../operations/found-job';
import type { ShownResult } from '../../operations/kept-end';
import { html, type Html } from '../html';
import { numberText } from '../parts/number';
import { dataTree } from './data-tree';
import { fieldsOf } from './job-story';
import { isLaravels } from './options-part';

/** Fields that another place of the page shows, or that nobody wants to see. */
export const SHOWN_ELSEWHERE: ReadonlySet<string> = new Set([
  'displayName',
  'job',
  'data',
  'uuid',
  'id',
  'middleware',
  TIES,
  RETRY_MARK,
  READY_AT,
  OCCURRENCE_FIELD,
  BATCH_FIELD,
  ...CHAIN_FIELDS,
  ...CHOSEN_FIELDS,
  ...Object.keys(noCounters),
]);

/** Characters of the raw payload that are shown. */
const LONGEST_RAW = 20_000;

export function dataPart(job: FoundJob): Html | undefined {
  const { payload, id } = job;
  if (payload === undefined) return undefined;
  const fields = fieldsOf(job);
  if (fields === undefined)
    return html`<h2>Payload</h2>
      <p class="advice">No worker can read this payload. It begins:</p>
      <pre tabindex="0"><bdi>${typeof payload === 'string' && payload}</bdi></pre>`;
  const { value, types } = dataOf(fields);
  const middleware = isRecord(fields['middleware']) ? fields['middleware'] : undefined;
  const others = Object.entries(fields).filter(([field]) => !SHOWN_ELSEWHERE.has(field));
  return html`<h2>Data</h2>
    ${isLaravels(fields) && html`<p class="advice">This job belongs to a class of Laravel; its data are serialized by PHP.</p>`}
    ${dataTree(value, types)}
    ${middleware && html`<h2>Middleware of its dispatch</h2>${dataTree(middleware['command'], middleware['types'])}`}
    ${others.length > 0 && html`<h2>Other fields</h2>${dataTree(Object.fromEntries(others), undefined)}`}
    ${rawPayload(payload, id)}`;
}

function dataOf({ job, data }: Readonly<Record<string, unknown>>): {
  readonly value: unknown;
  readonly types: unknown;
} {
  const isOurs = job === HANDLER || job === HANDLER_WITH_FOLLOWERS;
  return isOurs && isRecord(data)
    ? { value: data['command'], types: data['types'] }
    : { value: data, types: undefined };
}

function rawPayload(payload: unknown, id: string): Html {
  const text = JSON.stringify(payload, undefined, 2);
  const left = text.length - LONGEST_RAW;
  return html`<details class="raw">
    <summary>As JSON <span class="type">${numberText(text.length)} characters</span></summary>
    ${
      left > 0
        ? html`<p class="soft">
            Only the first ${numberText(LONGEST_RAW)} characters are shown; ${numberText(left)} more are left out. For all of it:
            <code>npx onqueue inspect ${id} --json</code>
          </p>`
        : html`<p><button type="button" data-copy="" data-of="raw-payload">Copy</button></p>`
    }
    <pre id="raw-payload" tabindex="0">${text.slice(0, LONGEST_RAW)}</pre>
  </details>`;
}

/** Undefined if no result is kept. */
export function resultPart(result: ShownResult | undefined): Html | undefined {
  if (result === undefined || result.kind === 'cancelled') return undefined;
  const { kind, value, types, reason } = result;
  if (kind === 'completed') return html`<h2>Result</h2>${dataTree(value, types)}`;
  return html`<h2>Result</h2><p class="advice">${kind === 'failed' ? 'It has failed' : 'It could not be kept'}: <bdi class="bad">${reason ?? ''}</bdi></p>`;
}
