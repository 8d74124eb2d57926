/** Puts the layers together: fills what the lower ones left open for the upper ones. Loaded first by every entry point. */
import 'reflect-metadata';
import { Bus } from './application/default-manager';
import { isUnderJest } from './base/environment';
import { late } from './base/late-parts';
import { builtInConnectors } from './connections/built-in';
import { offerEntries } from './copies';
import { timing } from './schedule/cadence';
import { defaultLogger } from './base/logger';
import { QueueManager } from './application/queue-manager';

offerEntries({
  index: () => require('./index') as object,
  testing: () => require('./testing') as object,
  dashboard: () => require('./dashboard') as object,
  exported: {},
});
late.dispatcher = Bus;
late.schedule = timing;
late.manager = () => new QueueManager({ connectors: builtInConnectors, logger: defaultLogger() });
// Loaded with the first fake, and then replaces this factory: programs in production do not pay for the test kit.
late.fake = (options) => {
  require('./testing/fake-queue');
  return late.fake(options);
};
// Under Jest loaded at once: after jest.resetModules() it would get modules of its own.
if (isUnderJest()) require('./testing');
