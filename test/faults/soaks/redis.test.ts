import { testSoaksOn } from './short-forms';

testSoaksOn('redis');
