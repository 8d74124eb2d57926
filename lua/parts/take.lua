-- take.lua: takes the unique keys of what is pushed.
--
--   after unique.lua

-- Which of `count` keys, whose arguments begin at `first`, are free, and what is to be kept of them. Of those that
-- others hold, also others of this call, `refused` has the places, and `held` these with the ids of their holders.
local function look_up(unique, first, count)
  local moment, keys, taken, fields, held, refused = clock(), {}, {}, {}, {}, nil
  for i = 1, count do keys[i] = ARGV[first + 3 * i - 2] end
  for i, kept in ipairs(call('HMGET', unique, unpack(keys))) do
    local key, place, tie = keys[i], ARGV[first + 3 * i - 3], ARGV[first + 3 * i - 1]
    kept = taken[key] or kept
    local holder = kept and holder_of(kept, moment)
    if holder then
      refused = refused or {}
      refused[tonumber(place)], held[#held + 1], held[#held + 2] = true, tonumber(place), holder
    else
      taken[key] = kept_of(tie, moment)
      fields[#fields + 1], fields[#fields + 2] = key, taken[key]
    end
  end
  return { fields = fields, refused = refused, held = held }
end

-- Takes the keys that are free, and gives what is to write their jobs: refused, it leaves them again. Nothing but a
-- push asks for the right to push.
local function take(unique, keys, ready)
  local fields = keys.fields
  if #fields == 0 then return call end
  call('LLEN', ready)
  call('HSET', unique, unpack(fields))
  return function(...)
    local reply = redis.pcall(...)
    if type(reply) ~= 'table' or not reply.err then return end
    for i = 1, #fields, 2 do redis.pcall('HDEL', unique, fields[i]) end
    error(reply)
  end
end
