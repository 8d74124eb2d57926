-- record-get.lua: read one record.
--
--   parts    records
--
--   KEYS[1] values      hash    id of a record -> its value
--   KEYS[2] ends        zset    id of a record -> when it expires (s)
--   ARGV[1] offset      number  see parts/base.lua
--   ARGV[2] id          string
--
--   returns  {'got', value} | {'absent'}
--   keeps    writes nothing
--   cost     O(1)

local values, ends, id = KEYS[1], KEYS[2], ARGV[2]

local value = standing(values, ends, id, clock())
return value and { 'got', value } or { 'absent' }
