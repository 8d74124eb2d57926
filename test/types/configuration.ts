/** What compiles, and what must not, of a configuration. Checked by the compiler; never run. */
import { type Configuration, defineConfig, Queue } from 'onqueue';

const connections = { main: { driver: 'redis' }, archive: { driver: 'memory' } } as const;

export const named = defineConfig({ default: 'main', failed: 'archive', connections });
// Which one it is may come from outside.
export const chosen = defineConfig({
  default: process.env['QUEUE'] ?? 'main',
  failed: process.env['FAILED'] ?? 'archive',
  connections,
});
export const plain: Configuration = { default: 'main', connections };
Queue.configure(named);
Queue.configure(chosen);
Queue.configure(plain);
Queue.configure({ default: process.env['QUEUE'], connections });

// @ts-expect-error -- there is no connection of that name
defineConfig({ default: 'man', connections });

// @ts-expect-error -- nor of this one
Queue.configure({ default: 'main', failed: 'archives', connections });
