/** `recount`: repairs unique keys and counts of batches and lanes after somebody has removed jobs or keys by hand. */
import type { QueueManager } from '../../application/queue-manager';
import type { Connection, Finding } from '../../connections/contract';
import { CapabilityError } from '../../connections/errors';
import { defineCommand } from '../command';
import { on, text } from '../flags';
import { keepingConnections } from '../../connections/driver';
import { counted } from '../output';
import { showingProgress } from '../progress';

export const recount = defineCommand({
  name: 'recount',
  summary: 'repair unique keys, batches and lanes after jobs were removed by hand',
  description:
    'Onqueue itself always keeps them correct; this is for manual DEL, LREM and DELETE. Workers may keep running. A batch without remaining jobs ends, and its callbacks are sent.',
  examples: [
    ['onqueue recount', 'all connections that keep them'],
    ['onqueue recount --dry-run', 'only print what is wrong'],
    ['onqueue recount --connection=redis --json', 'one connection, for a program'],
  ],
  flags: {
    connection: text('<name>', 'the connection to repair (default: all)'),
    dryRun: on('only print what is wrong; change nothing'),
  },
  async run(call) {
    const { connection, dryRun = false } = call.flags;
    const manager = await call.open();
    const meant = connectionsOf(manager, connection);
    const findings: (Finding & { readonly connection: string })[] = [];
    for (const one of meant) {
      if (one.keys?.recount === undefined) {
        call.fail(`${one.name}: the driver ${one.driver} cannot recount.`);
        continue;
      }
      const look = async () => (await one.keys?.recount?.({ repair: !dryRun })) ?? [];
      for (const finding of await showingProgress(call, `Looking at ${one.name}`, look)) {
        findings.push({ connection: one.name, ...finding });
        call.output.line(`${one.name}: ${sentenceOf(finding)}`);
      }
    }
    if (meant.length > 0 && meant.every((one) => one.keys?.recount === undefined)) return;
    call.output.result({ repaired: !dryRun, findings }, summaryOf(findings, dryRun));
  },
});

/** @throws CapabilityError none of the connections keeps such data, or the named one does not */
function connectionsOf(manager: QueueManager, name: string | undefined): readonly Connection[] {
  const named = name === undefined ? keepingConnections(manager) : [name];
  const all = named.map((each) => manager.driver(each));
  const able = all.filter(({ batches }) => batches !== undefined);
  if (able.length === 0) {
    const { name: lacking, driver } = manager.driver(name);
    throw new CapabilityError(lacking, driver, 'batches');
  }
  // The first connection of a failover keeps its data.
  const stores = [...new Set(able.map((each) => each.failover?.first ?? each))];
  // A store that lives only in this process is empty.
  return name === undefined ? stores.filter(({ threadAccess }) => threadAccess !== null) : stores;
}

function sentenceOf(finding: Finding): string {
  if (finding.kind === 'stuck') {
    return `the unique key ${finding.key} is held by the job ${finding.holder}, which no longer exists`;
  }
  if (finding.kind === 'unheld') {
    return `the unique key ${finding.key} is free, but the job ${finding.holder} should hold it`;
  }
  if (finding.kind === 'crowded') {
    const { lane, queue, inside, found } = finding;
    return `the lane ${lane} of the queue ${queue} counts ${counted(inside, 'job')} as ready or running, but ${found} ${found === 1 ? 'is' : 'are'}`;
  }
  const { batch, pending, found } = finding;
  return `the batch ${batch} counts ${counted(pending, 'job')} as pending, but ${found} ${found === 1 ? 'exists' : 'exist'}`;
}

function summaryOf(findings: readonly Finding[], dryRun: boolean): string {
  const count = (kind: Finding['kind']): number => findings.filter((finding) => finding.kind === kind).length;
  const done = [
    ...summed(count('stuck'), 'key', 'keys', 'freed'),
    ...summed(count('unheld'), 'key', 'keys', 'given back'),
    ...summed(count('miscounted'), 'batch', 'batches', 'corrected'),
    ...summed(count('crowded'), 'lane', 'lanes', 'corrected'),
  ];
  if (done.length === 0) return 'Nothing is wrong.';
  return dryRun ? `Without --dry-run: ${done.join(', ')}.` : `Repaired: ${done.join(', ')}.`;
}

const summed = (count: number, one: string, more: string, done: string): readonly string[] =>
  count === 0 ? [] : [`${counted(count, one, more)} ${done}`];
