/** What can be done with Redis. */
import { ALL_CAPABLE } from '../kit/capabilities';

export const REDIS = { ...ALL_CAPABLE, operations: false };
