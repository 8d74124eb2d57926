-- permitted.lua: which commands the user of this connection may not give.
--
--   KEYS[1] ready       list    any key of ours: what the user may do with one, he may do with all
--   ARGV[1] offset      number  see prelude.lua
--   ARGV[2..] names     string  the commands
--
--   returns  {'permitted', missing}      (missing: names; none where Redis is older than 7 and does not say)
--   keeps    I1
--   cost     O(1)
--
--   Redis refuses a script where it comes to a command that is not allowed, and leaves what it has done until then: a
--   job would be in no place at all. So this is asked before the first of them.

local ready = KEYS[1]

local missing = {}
for at = 2, #ARGV do
  local name = ARGV[at]
  if redis.acl_check_cmd and not redis.acl_check_cmd(name, ready, ready, ready) then missing[#missing + 1] = name end
end
return { 'permitted', missing }
