/** `encryption`: which keys seal and open jobs, and which of them are still needed. */
import { keysInUse } from '../../application/encryption';
import { defineCommand } from '../command';
import { counted } from '../output';

/** Of each queue and state, and of each store's failed jobs. */
const MOST = 10_000;

export const encryption = defineCommand({
  name: 'encryption',
  summary: 'list the keys of encrypted jobs, and the jobs that need them',
  description:
    'A key that no job needs may be removed from the configuration, once another one seals. The exit code is 1 if jobs need a key that ' +
    'the configuration does not have.',
  examples: [
    ['onqueue encryption', 'before an old key is removed'],
    ['onqueue encryption --json', 'for a program'],
  ],
  async run(call) {
    const manager = await call.open();
    const { keys, isPart } = await keysInUse(manager, MOST);
    const { output } = call;
    output.result({ keys, isPart });
    if (keys.length === 0) return output.line('No keys are configured, and no job is encrypted.');
    const rows = keys.map(({ key, isConfigured, seals, waiting, failed }) => {
      return [key, seals ? 'seals' : isConfigured ? 'opens' : 'absent', waiting, failed];
    });
    output.list(['key', 'configured', 'waiting', 'failed'], rows);
    if (isPart) output.note(`Only the first ${MOST} jobs of each queue and state were counted; there may be more.`);
    for (const { key, isConfigured, waiting, failed } of keys) {
      if (!isConfigured)
        call.fail(
          `${counted(waiting + failed, 'job')} cannot run without the key '${key}'. Add it to encryption.keys.`,
        );
    }
  },
});
