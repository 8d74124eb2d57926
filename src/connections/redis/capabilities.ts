/** What can be done with Redis. */
import type { Capabilities } from '../contract';
import { ALL_CAPABLE } from '../kit/capabilities';

export const REDIS: Capabilities = { ...ALL_CAPABLE, batches: false };
