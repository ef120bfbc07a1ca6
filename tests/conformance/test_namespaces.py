"""Names of the ``torch`` and ``torch.Tensor`` namespaces beside PyTorch's: expressions whose texts have to be equal."""

import copy
import pickle
import re

import numpy as np
import pytest
import torch

import tocha

pytestmark = [
    pytest.mark.filterwarnings("ignore::UserWarning"),
    pytest.mark.filterwarnings("ignore:__array_wrap__:DeprecationWarning"),  # PyTorch's has the signature of NumPy 1
]

# each is evaluated with ``m`` as PyTorch and as tocha
EXPRESSIONS = r"""
np.greater(m.ones(2),0)
type(np.add(np.ones(2),m.ones(2))) is m.Tensor
np.sin(m.ones(2))
np.add.reduce(m.ones(2))
copy.copy((m.ones(2,requires_grad=True)*2))
(lambda x:copy.copy(x).data_ptr()==x.data_ptr())(m.ones(2))
pickle.loads(pickle.dumps(m.ones(2,requires_grad=True)*2))
pickle.loads(pickle.dumps(m.nn.Parameter(m.ones(2))))
m.ones(2,3).t_().shape
m.ones(2,requires_grad=True).t_()
(lambda x:(x.unsqueeze_(0),x._version))(m.ones(2))
(lambda x:(x.squeeze_(),x._is_view()))(m.ones(2,1))
(lambda x:(x[0].unsqueeze_(0).add_(1),x))(m.ones(2,2))
(lambda x:m.autograd.grad((x*2).unsqueeze_(0).sin().sum(),x))(m.ones(2,requires_grad=True))
(lambda x:m.autograd.grad((x*2)[0:1].t_().sin().sum(),x))(m.ones(2,2,requires_grad=True))
m.ones(2,requires_grad=True).__dlpack__()
tuple(map(int,m.ones(2).__dlpack_device__()))
m.frombuffer(b'abcd',dtype=m.uint8)
m.frombuffer(b'',dtype=m.uint8)
m.frombuffer(bytearray(5),dtype=m.int32)
m.frombuffer(bytearray(8),dtype=m.int32,count=3)
m.frombuffer(bytearray(8),dtype=m.int32,offset=9)
m.frombuffer(bytearray(8),dtype=m.int32,offset=4)
m.frombuffer(3,dtype=m.int32)
m.from_dlpack(np.arange(3))
m.from_dlpack(m.to_dlpack(m.arange(3)))
m.ones(2).storage()
m.ones(2).untyped_storage()
m.ones(2).untyped_storage()[2]
m.ones(2).untyped_storage()[1:3].tolist()
m.ones(4)[1:].untyped_storage().nbytes()
m.ones(4)[1:].storage()[0]
m.ones(4)[1:].storage_offset()
m.arange(8)[2:].view(m.int32)[1:].storage_offset()
m.arange(8)[2:].view(m.int32)[1:].untyped_storage().nbytes()
m.UntypedStorage(3).fill_(2)
m.UntypedStorage([1,2]).resize_(3).nbytes()
m.ones(2).storage().untyped().nbytes()
m.from_numpy(np.ones(2)).untyped_storage().resize_(20)
(lambda x:x.untyped_storage().data_ptr()==x.data_ptr()-8)(m.ones(4)[2:])
m.ones(2).is_shared()
m.ones(2).share_memory_().is_shared()
m.ones(2,3).t().share_memory_()
m.ones(2).is_pinned()
m.ones(3).resize(2)
m.ones(4).resize(2,2)
m.ones(3).resize_as(m.ones(1))
str(m.ones(2).layout)
m.ones(2).to_dense()
m.ones(2).new()
m.ones(2).new(2,3).shape
m.ones(2).new([1,2])
m.ones(2).new(m.Size([2])).shape
m.ones(2).long().new(m.ones(2).long())
m.FloatTensor([1,2])
m.LongTensor(2,3).dtype
isinstance(m.ones(2),m.FloatTensor)
isinstance(m.ones(2),m.LongTensor)
m.LongTensor([1.5])
m.FloatTensor(np.ones(2))
m.tensor([1.]).type(m.LongTensor)
m.ones(2).type(m.DoubleTensor)
m.LongTensor.dtype
m.set_num_threads(0)
m.set_num_threads('a')
m.get_float32_matmul_precision()
m.get_deterministic_debug_mode()
m.set_deterministic_debug_mode('x')
m.set_deterministic_debug_mode(5)
m.use_deterministic_algorithms(3)
m.get_device_module(3)
m.set_default_tensor_type('torch.X')
m.set_default_tensor_type(3)
(m.set_default_tensor_type(m.DoubleTensor),m.ones(1),m.set_default_tensor_type('torch.FloatTensor'),m.ones(1))
m.ones(2).apply_(lambda x:x+1)
m.ones(2).map_(m.ones(2),lambda x,y:x+y)
m.ones(2).map_(m.tensor(3.),lambda x,y:x+y)
m.ones(2,requires_grad=True).apply_(lambda x:x)
m.ones(2).map_(m.ones(3),lambda x,y:x+y)
m.ones(2).map_(m.ones(2).double(),lambda x,y:x+y)
m.vander(m.tensor([1,2,3]))
m.vander(m.tensor([1,2,3]),N=2,increasing=True)
m.vander(m.ones(2,2))
m.vander(m.tensor([1,2,3]),N=0).shape
m.slice_copy(m.arange(5),0,1,4,2)
m.ones(2,3).renorm_(2,0,1)
m.ones(2).as_subclass(m.nn.Parameter)
m.ones(2).as_subclass(int)
(lambda x: x.as_subclass(type('S',(m.Tensor,),{})).grad_fn is not None)(m.ones(2,requires_grad=True)*2)
m.while_loop(lambda i:i<3,lambda i:(i+1,),(m.tensor(0),))
m.cond(m.tensor(True),lambda x:x+1,lambda x:x-1,(m.ones(2),))
m.is_inference(m.ones(2))
m.is_storage(m.ones(2).storage())
m.embedding(m.eye(3),m.tensor([0,2]))
m.embedding_bag(m.eye(3),m.tensor([0,2]),m.tensor([0]))[0]
m.embedding_bag(m.eye(3),m.tensor([0,2,1]),m.tensor([0,1]),False,1)[0]
m.embedding_bag(m.eye(3),m.tensor([0,2,1]),m.tensor([0,1]),False,2)[:3]
m.rrelu(-m.ones(2))
m.rrelu_(-m.ones(2))
m.eye(2).lu()
m.eye(2).lu(get_infos=True)
m.ones(2).is_sparse
m.ones(2).is_quantized
m.ones(2).name
m.ones(2).volatile
m.ones(2).output_nr
m.ones(3,2).unbind()[1].output_nr
m.set_warn_always(3)
m.ones(2).dim_order()
m.ones(2,3,4,5).contiguous(memory_format=m.channels_last).dim_order()
m.ones(2,3).t().dim_order()
m.kl_div(m.tensor([-1.,-2.]),m.tensor([.5,.5]))
m.kl_div(m.tensor([-1.,-2.]),m.tensor([.5,.5]),2,log_target=True)
m.binary_cross_entropy_with_logits(m.tensor([1.]),m.tensor([0.]))
m.poisson_nll_loss(m.tensor([1.]),m.tensor([2.]),True,False,1e-8,1)
m.margin_ranking_loss(m.tensor([1.]),m.tensor([2.]),m.tensor([1.]),0.5)
m.hinge_embedding_loss(m.tensor([1.]),m.tensor([-1.]),2.)
m.cosine_embedding_loss(m.ones(1,2),m.ones(1,2),m.tensor([-1.]),0.2)
m.triplet_margin_loss(m.ones(1,2),m.zeros(1,2),m.ones(1,2))
m.ctc_loss(m.zeros(4,1,3).log_softmax(-1),m.tensor([[1,2]]),m.tensor([4]),m.tensor([2]))
m.acos_(m.tensor([.5]))
m.addmv_(m.zeros(2),m.ones(2,3),m.ones(3))
m.xlogy_(m.ones(2),m.tensor(2.))
m.ldexp_(m.ones(2),m.tensor([1,2]))
m.nan_to_num_(m.tensor([float('nan')]),nan=3.)
m.detach_(m.ones(2,requires_grad=True)*2)
m.round_(m.tensor([1.26]),decimals=1)
m.logit_(m.tensor([.2]),eps=.3)
m.acos_(3)
m.empty(2,3,device='meta').shape
m.zeros(2,device='meta')+1
m.arange(3,device='meta')
m.linspace(0,1,3,device='meta')
m.empty(2,device='meta').new_zeros(3)
m.empty_permuted((2,3,4),(0,2,1),device='meta').shape
m.rand(2,device='meta')
m.randint(3,(2,),device='meta')
m.eye(2,device='meta')
m.full((2,),3.,device='meta')
m.tensor([1,2],device='meta')
m.randn(2,2,device='meta')@m.ones(2,2,device='meta')
m.randperm(3,device='meta')
m.empty_like(m.ones(2),device='meta')
m.rand_like(m.ones(2,device='meta'))
m.ones(2,device='meta').untyped_storage().nbytes()
m.nn.Linear(2,3,device='meta').weight
m.ones(2,device='meta').normal_()
m.asarray([1,2],device='meta')
m.logspace(0,1,3,device='meta')
m.scalar_tensor(3,device='meta')
m.tril_indices(3,3,device='meta')
m.normal(0.,1.,(2,),device='meta')
m.hann_window(3,device='meta')
m.complex(m.ones(2,device='meta'),m.ones(2,device='meta'))
m.bernoulli(m.ones(2,device='meta'))
3 in m.ones(2)
bool(m.ones(2))
m.ones(3).set_(m.ones(4).untyped_storage()).shape
m.ones(3).set_(m.arange(4.).untyped_storage(),1,(2,),(1,))
m.ones(3).set_(m.arange(4.).storage(),1,(2,),(1,))
""".strip().splitlines()


def text(expression, m):
    """What an expression gives, or the exception it raises, as text."""
    try:
        result = eval(expression, {"m": m, "np": np, "copy": copy, "pickle": pickle})
    except Exception as error:
        return f"{type(error).__name__}: {error}".replace("tocha", "torch")
    return re.sub(r"0x\w+", "0x", repr(result)).replace("tocha", "torch")


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_texts(expression):
    assert text(expression, tocha) == text(expression, torch)


def test_dlpack_between_the_two():
    ours = tocha.arange(3)
    theirs = torch.from_dlpack(ours)
    theirs[0] = 7
    assert ours.tolist() == [7, 1, 2]
    back = tocha.from_dlpack(torch.arange(3))
    assert back.tolist() == [0, 1, 2]
