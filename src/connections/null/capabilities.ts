/** What the `null` driver can do without keeping anything. */
import type { Capabilities } from '../contract';
import { STORELESS } from '../kit/capabilities';

export const NULL: Capabilities = { ...STORELESS, delay: true, clear: true, peek: true };
