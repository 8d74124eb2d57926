/** What the `null` driver can do: nothing of it has to be kept for that. */
import type { Capabilities } from '../contract';
import { STORELESS } from '../kit/capabilities';

export const NULL: Capabilities = { ...STORELESS, delay: true, clear: true, peek: true };
