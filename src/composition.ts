/** Puts the layers together: what the lower ones left open for the upper ones to fill. Loaded first by every entry point. */
import 'reflect-metadata';
import { Bus } from './bus/bus';
import { builtInConnectors } from './connections/built-in';
import { setJobDispatcher } from './job/dispatcher';
import { defaultLogger } from './logger/console-logger';
import { setManagerFactory } from './queue/default-manager';
import { QueueManager } from './queue/queue-manager';

setJobDispatcher(Bus);
setManagerFactory(() => new QueueManager({ connectors: builtInConnectors, logger: defaultLogger() }));
