/** Which stores the pages show, so that nobody confuses two programs. */
import type { QueueManager } from '../../application/queue-manager';
import { redact } from '../../base/redact';
import { keepsJobs } from '../../connections/driver';
import { html, type Html } from '../html';

const MOST = 5;
/** In characters: a cluster has many nodes. */
const LONGEST = 120;

/** Undefined if no connection keeps jobs, or the configuration cannot be read, which the page itself reports. */
export function storesLine(manager: QueueManager): Html | undefined {
  try {
    const names = manager.connectionNames().filter((name) => keepsJobs(manager.settings(name).driver));
    if (names.length === 0) return undefined;
    const shown = names
      .slice(0, MOST)
      .map((name, place) => html`${place > 0 && ', '}<bdi>${name}</bdi> (<bdi>${placeOf(manager, name)}</bdi>)`);
    return html`<p>Connections: ${shown}${names.length > MOST && ` and ${names.length - MOST} more`}</p>`;
  } catch {
    return undefined;
  }
}

function placeOf(manager: QueueManager, name: string): string {
  const { driver } = manager.settings(name);
  try {
    // The address of a user's driver may contain more than ours do.
    const address = redact(manager.driver(name).address);
    const text = address.startsWith(driver) ? address : `${driver} ${address}`;
    return text.length > LONGEST ? `${text.slice(0, LONGEST)}…` : text;
  } catch {
    return driver;
  }
}
