-- permitted.lua: which commands the user of this connection may not call.
--
--   KEYS[1] ready       list    any key of ours: what the user may do with one, they may do with all
--   ARGV[1] offset      number  see parts/base.lua
--   ARGV[2..] names     string  the commands
--
--   returns  {'permitted', missing}      (missing: names; empty if Redis is older than 7 and cannot tell)
--   keeps    I1
--   cost     O(1)
--
--   For `onqueue check`, and for the error of a refused script. No worker asks beforehand: a refusal costs no job.

local ready = KEYS[1]

local missing = {}
for at = 2, #ARGV do
  local name = ARGV[at]
  if redis.acl_check_cmd and not redis.acl_check_cmd(name, ready, ready, ready) then missing[#missing + 1] = name end
end
return { 'permitted', missing }
