-- records.lua: the value of a record.

-- The value, unless the record has expired. Nil: there is none.
local function standing(values, ends, id, moment)
  local ending, value = call('ZSCORE', ends, id), call('HGET', values, id)
  return ending and tonumber(ending) * 1000000 > moment and value or nil
end
