// A large file fits into a small container, however Node was started: young objects get no more memory than now, old ones are
// collected early. V8 reads both flags at each collection; as an option of Node it takes no factor below 2.
import { setFlagsFromString } from 'node:v8';

setFlagsFromString('--semi-space-growth-factor=1');
setFlagsFromString('--heap-growing-percent=25');
