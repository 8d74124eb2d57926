/** `recount`: repairs unique keys and the counts of batches, after somebody has removed jobs or keys by hand. */
import type { QueueManager } from '../../application/queue-manager';
import type { Connection } from '../../connections/contract';
import { CapabilityError } from '../../connections/errors';
import type { Finding } from '../../connections/finding';
import { defineCommand } from '../command';
import { on, text } from '../flags';
import { keepingConnections } from '../named-queues';
import { showingProgress } from '../progress';
import { counted } from '../table';

export const recount = defineCommand({
  name: 'recount',
  summary: 'repair unique keys and batches, after jobs were removed by hand',
  description:
    'What Onqueue does keeps them right, whatever breaks; this is for DEL, LREM and DELETE. Workers may go on. A batch of which no job is left ends, and sends what it sends at its end.',
  examples: [
    ['onqueue recount', 'on all connections that keep some'],
    ['onqueue recount --dry-run', 'only say what is wrong'],
    ['onqueue recount --connection=redis --json', 'of one connection, for a program'],
  ],
  flags: {
    connection: text('<name>', 'connection to look at in place of all'),
    dryRun: on('only say what is wrong'),
  },
  async run(call) {
    const { connection, dryRun = false } = call.flags;
    const manager = await call.open();
    const meant = connectionsOf(manager, connection);
    const findings: (Finding & { readonly connection: string })[] = [];
    for (const one of meant) {
      if (one.recount === undefined) {
        call.fail(`${one.name}: the driver ${one.driver} cannot count anew.`);
        continue;
      }
      const look = async () => (await one.recount?.({ repair: !dryRun })) ?? [];
      for (const finding of await showingProgress(call, `Looking at ${one.name}`, look)) {
        findings.push({ connection: one.name, ...finding });
        call.output.line(`${one.name}: ${sentenceOf(finding)}`);
      }
    }
    if (meant.length > 0 && meant.every((one) => one.recount === undefined)) return;
    call.output.result({ repaired: !dryRun, findings }, summaryOf(findings, dryRun));
  },
});

/** @throws CapabilityError none of them keeps what may be wrong, or not the one that is named */
function connectionsOf(manager: QueueManager, name: string | undefined): readonly Connection[] {
  const named = name === undefined ? keepingConnections(manager) : [name];
  const all = named.map((each) => manager.driver(each));
  const able = all.filter(({ batches }) => batches !== undefined);
  if (able.length === 0) {
    const { name: lacking, driver } = manager.driver(name);
    throw new CapabilityError(lacking, driver, 'batches');
  }
  // What a failover keeps, the first of its connections does.
  const stores = [...new Set(able.map((each) => each.standsFor ?? each))];
  // One that lives in this process alone is empty.
  return name === undefined ? stores.filter(({ threadAccess }) => threadAccess !== null) : stores;
}

function sentenceOf(finding: Finding): string {
  if (finding.kind === 'stuck') {
    return `the unique key ${finding.key} is held by the job ${finding.holder}, which is gone`;
  }
  if (finding.kind === 'unheld') {
    return `the unique key ${finding.key} is held by nobody, and the job ${finding.holder} is to hold it`;
  }
  const { batch, pending, found } = finding;
  return `the batch ${batch} counts ${counted(pending, 'job')} as pending, and ${found} ${found === 1 ? 'is' : 'are'} there`;
}

function summaryOf(findings: readonly Finding[], dryRun: boolean): string {
  const count = (kind: Finding['kind']): number => findings.filter((finding) => finding.kind === kind).length;
  const done = [
    ...summed(count('stuck'), 'key', 'keys', 'freed'),
    ...summed(count('unheld'), 'key', 'keys', 'given back'),
    ...summed(count('miscounted'), 'batch', 'batches', 'corrected'),
  ];
  if (done.length === 0) return 'Nothing is wrong.';
  return dryRun ? `Without --dry-run: ${done.join(', ')}.` : `Repaired: ${done.join(', ')}.`;
}

const summed = (count: number, one: string, more: string, done: string): readonly string[] =>
  count === 0 ? [] : [`${counted(count, one, more)} ${done}`];
