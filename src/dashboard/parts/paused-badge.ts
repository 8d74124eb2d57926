/** The mark of a paused queue. */
import type { QueueSnapshot } from '../../operations/snapshot';
import { html, type Html } from '../html';
import type { PageContext } from '../view';
import { moment } from './time';

export function pausedBadge({ pausedUntil }: QueueSnapshot, { now }: PageContext): Html {
  return html`<span class="badge warn">paused${pausedUntil && html`, resumes ${moment(pausedUntil, now)}`}</span>`;
}
